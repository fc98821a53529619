"""A learner fed by a camera, a folder or a program: sources, gate, store, journal, knowledge."""

from scale.live.alerts import AlertOptions
from scale.live.config import WatchConfig, live_parameters, read_watch
from scale.live.events import Event, Patience
from scale.live.knowledge import Knowledge
from scale.live.learning import load_learner
from scale.live.observer import Observer
from scale.live.retention import in_memory
from scale.live.status import read_status
from scale.live.store import Store
from scale.live.watcher import Watcher

__all__ = [
    "AlertOptions",
    "Event",
    "Knowledge",
    "Observer",
    "Patience",
    "Store",
    "WatchConfig",
    "Watcher",
    "in_memory",
    "live_parameters",
    "load_learner",
    "read_status",
    "read_watch",
]

"""The page and the HTTP interface of a live learner. It needs the extra ``serve``."""

from scale.live.service.app import make_app
from scale.live.service.security import make_token
from scale.live.service.server import Server

__all__ = ["Server", "make_app", "make_token"]

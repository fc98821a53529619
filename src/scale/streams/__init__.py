"""Streams: the paper's five orders of images, `as-is`, `frames`, and live sources."""

from scale.streams import as_is, frames, iid, seq, seq_bl, seq_cc, seq_im
from scale.streams._registry import STREAMS, register_stream
from scale.streams.live import batches
from scale.streams.order import make_order
from scale.streams.picture import class_over_time
from scale.streams.stream import Stream

__all__ = [
    "STREAMS",
    "Stream",
    "as_is",
    "batches",
    "class_over_time",
    "frames",
    "iid",
    "make_order",
    "register_stream",
    "seq",
    "seq_bl",
    "seq_cc",
    "seq_im",
]

"""The status in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from scale.live.service.models import Status

Figure = tuple[str, Mapping[str, float | None]]
"""What a metric is, and its values by their labels."""


def as_text(status: Status) -> str:
    r"""Return the figures of a status, one metric after the other.

    Examples
    --------
    >>> from scale.live.service.models import Status
    >>> status = Status(state="waiting", watching=True, images=3, stored=3, named=0, open_events=0,
    ...                 step=1, skipped={'a"b\n': 2}, dropped=0, sources=[], loss=0.5)
    >>> for line in as_text(status).splitlines():
    ...     if not line.startswith("#"):
    ...         print(line)
    scale_up 1
    scale_images_total 3
    scale_images_stored 3
    scale_images_named 0
    scale_images_dropped_total 0
    scale_images_skipped_total{reason="a\"b\n"} 2
    scale_events_open 0
    scale_batches_learned_total 1
    scale_loss 0.5
    """
    lines: list[str] = []
    for name, (text, values) in _figures(status).items():
        shown = {labels: one for labels, one in values.items() if one is not None}
        if shown:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines.append(f"# HELP scale_{name} {text}\n# TYPE scale_{name} {kind}")
            lines.extend(f"scale_{name}{labels} {one!r}" for labels, one in shown.items())
    return "\n".join(lines) + "\n"


def _figures(status: Status) -> dict[str, Figure]:
    rates, queue, updates = status.images_per_second, status.queue, status.updates
    skipped = {f'{{reason="{_label(one)}"}}': n for one, n in status.skipped.items()}
    sources = {
        f'{{source="{_label(one.uri)}",state="{_label(one.state)}"}}': 1 for one in status.sources
    }
    return {
        "up": ("Whether a learner is watching.", {"": int(status.watching)}),
        "images_total": ("Images that the gate let through.", {"": status.images}),
        "images_stored": ("Images in the store.", {"": status.stored}),
        "images_named": ("Images that a person named.", {"": status.named}),
        "images_dropped_total": ("Images dropped for want of time or room.", {"": status.dropped}),
        "images_skipped_total": ("Images skipped by the gate.", skipped),
        "source_state": ("The state of each source.", sources),
        "events_open": ("Open events.", {"": status.open_events}),
        "batches_learned_total": ("Batches learned.", {"": status.step}),
        "images_in_per_second": (
            "Images that come.",
            {"": None if rates is None else rates.coming},
        ),
        "images_learned_per_second": (
            "Images learned.",
            {"": None if rates is None else rates.learned},
        ),
        "queue_images": ("Images that wait.", {"": None if queue is None else queue.waiting}),
        "updates_per_batch": (
            "Updates per batch now.",
            {"": None if updates is None else updates.now},
        ),
        "loss": ("Loss of the last batch.", {"": status.loss}),
        "effective_rank": ("Effective rank of the features.", {"": status.effective_rank}),
        "drift": ("Distance of the last images from the past, in its spreads.", {"": status.drift}),
        "disk_bytes": ("Bytes of tables and thumbnails.", {"": status.disk_bytes}),
        "memory_bytes": ("Memory of the process.", {"": status.memory_bytes}),
        "uptime_seconds": ("Time since the start.", {"": status.uptime}),
    }


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

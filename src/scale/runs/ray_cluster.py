"""Connect to a Ray cluster. Ray is an optional dependency."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from scale._errors import InputError, ScaleError


def import_ray() -> Any:
    """Return the module `ray`."""
    try:
        import ray
    except ImportError as error:
        raise ScaleError("the Ray engine needs Ray: pip install 'scale-lifelong[ray]'") from error
    return ray


def connect(ray: Any, address: str) -> None:
    """Connect to the cluster at `address`; ``local`` starts one here."""
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(
            f"no Ray cluster at {address!r} ({str(error).splitlines()[0]}); start one "
            "with: ray start --head, or use --address local"
        ) from error


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the module `ray`, connected during the block."""
    ray = import_ray()
    connect(ray, address)
    try:
        yield ray
    finally:
        ray.shutdown()

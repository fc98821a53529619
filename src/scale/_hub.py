"""The Hugging Face hub: its library, the names of its repositories, and its errors in one line."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scale._errors import InputError, ScaleError
from scale._text import first_line

PREFIX = "hf:"
LEARNER = "learner.safetensors"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def is_hub_name(text: str) -> bool:
    """Return whether `text` has the form ``owner/name``.

    Examples
    --------
    >>> is_hub_name("me/digits"), is_hub_name("../digits"), is_hub_name("digits")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None and ".." not in text and "--" not in text


def import_hub(what: str) -> Any:
    """Return huggingface_hub; `what` needs it."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise ScaleError(
            f"{what} needs huggingface_hub; run: pip install 'scale-lifelong[hub]'"
        ) from error
    return huggingface_hub


def endpoint() -> str | None:
    """Return the address of a mirror; huggingface_hub reads it only once, when it is imported."""
    return os.environ.get("HF_ENDPOINT") or None


def offline() -> bool:
    """Return whether the hub's name cannot be resolved; asking it would take a minute of attempts.

    A proxy resolves names itself.
    """
    if urllib.request.getproxies().keys() & {"http", "https", "all"}:
        return False
    address = urlsplit(endpoint() or import_hub("the hub").constants.ENDPOINT)
    try:
        socket.getaddrinfo(address.hostname, address.port or 443)
    except OSError:
        return True
    return False


def download(name: str, file: str) -> Path:
    """Return a file of a model on the hub, from the cache of huggingface_hub if it is there."""
    if not is_hub_name(name):
        raise InputError(f"a model on the hub is owner/name, got {name!r}")
    hub = import_hub("downloading")
    with plain_errors(name):
        away = offline()
        try:
            return Path(hub.hf_hub_download(name, file, endpoint=endpoint(), local_files_only=away))
        except hub.errors.LocalEntryNotFoundError as error:
            if not away:
                raise
            raise ScaleError(
                f"the hub cannot be reached, and {name} is not in its cache; check the network and "
                "run again; a folder such as ./model works without it"
            ) from error


@contextlib.contextmanager
def without_attempts() -> Iterator[None]:
    """Keep huggingface_hub from telling of each attempt; its last error says enough."""
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turn the errors of huggingface_hub into messages that say what to do."""
    try:
        with without_attempts():
            yield
    except (ScaleError, KeyboardInterrupt):
        raise
    except Exception as error:  # the errors of huggingface_hub differ between its versions
        raise _plain(name, error) from error


def _plain(name: str, error: Exception) -> ScaleError:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(getattr(error, "response", None), "status_code", None)
    if "LocalEntryNotFoundError" in kinds and error.__cause__ is not None:
        return _plain(name, error.__cause__)  # type: ignore[arg-type]
    if "RepositoryNotFoundError" in kinds and "GatedRepoError" not in kinds:
        return InputError(
            f"there is no model {name} on the hub, or it is private; check the name, or log in "
            "with `hf auth login`"
        )
    if "GatedRepoError" in kinds or status in (401, 403):
        return InputError(
            f"the hub does not allow this for {name}: log in with `hf auth login` or set HF_TOKEN, "
            "with a token that may do it"
        )
    if "EntryNotFoundError" in kinds and "LocalEntryNotFoundError" not in kinds:
        return InputError(
            f"the model {name} on the hub has no {LEARNER}: it was not pushed by scale, or without "
            "its learner"
        )
    return ScaleError(
        f"the hub did not answer for {name} ({first_line(error)}); check the network and run "
        "again; a folder such as ./model works without it"
    )

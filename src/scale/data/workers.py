"""Processes that decode images too small for threads: the interpreter's lock is one per process.

`multiprocessing` would start the user's script again in every worker; these are plain children that
read chunks of encoded images from standard input and write pixels to standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np

from scale.data.pixels import BadImageError, Pixels, read_pixels

Item = tuple[str, bytes | Path]  # what to call it in a message, and the encoded image
Outcome = tuple[str, Pixels | BadImageError]
_LENGTH = struct.Struct("<Q")


def read_chunk(chunk: list[Item], image_size: int | None) -> list[Outcome]:
    """Decode a few images here."""
    outcomes: list[Outcome] = []
    for name, content in chunk:
        try:
            outcomes.append((name, read_pixels(content, image_size)))
        except BadImageError as error:
            outcomes.append((name, error))
    return outcomes


class Workers:
    """Decoding processes, used by as many threads at most."""

    def __init__(self, count: int) -> None:
        self._free: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        self._all = [_start() for _ in range(count)]
        for process in self._all:
            self._free.put(process)

    def read_chunk(self, chunk: list[Item], image_size: int | None) -> list[Outcome]:
        """Decode a few images in a free process, or here when that process has died."""
        process = self._free.get()
        try:
            if process is not None:
                return _ask(process, chunk, image_size)
        except (OSError, EOFError):
            process = None
        finally:
            self._free.put(process)
        return read_chunk(chunk, image_size)

    def close(self) -> None:
        """End the processes."""
        for process in self._all:
            process.kill()
            process.communicate()


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "ignore", "-m", "scale.data.workers"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ask(
    process: subprocess.Popen[bytes], chunk: list[Item], image_size: int | None
) -> list[Outcome]:
    assert process.stdin is not None
    assert process.stdout is not None
    encoded = [os.fsencode(one) if isinstance(one, Path) else one for _, one in chunk]
    paths = [isinstance(one, Path) for _, one in chunk]
    lengths = [len(one) for one in encoded]
    _send(process.stdin, {"size": image_size, "paths": paths, "lengths": lengths}, encoded)
    header = _receive(process.stdout)
    outcomes: list[Outcome] = []
    for (name, _), shape in zip(chunk, header, strict=True):
        if isinstance(shape, str):
            outcomes.append((name, BadImageError(shape)))
        else:
            content = _read(process.stdout, int(np.prod(shape)))
            outcomes.append((name, np.frombuffer(content, np.uint8).reshape(shape)))
    return outcomes


def _send(file: IO[bytes], header: Any, blobs: list[bytes]) -> None:
    head = json.dumps(header).encode()
    file.write(b"".join([_LENGTH.pack(len(head)), head, *blobs]))
    file.flush()


def _receive(file: IO[bytes]) -> Any:
    (length,) = _LENGTH.unpack(_read(file, _LENGTH.size))
    return json.loads(_read(file, length))


def _read(file: IO[bytes], size: int) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise EOFError
    return content


def main() -> None:
    """Decode what comes until nothing comes any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            request = _receive(source)
            encoded = [_read(source, length) for length in request["lengths"]]
            chunk: list[Item] = [
                ("", Path(os.fsdecode(one)) if is_path else one)
                for one, is_path in zip(encoded, request["paths"], strict=True)
            ]
            results = [result for _, result in read_chunk(chunk, request["size"])]
            shapes = [str(r) if isinstance(r, BadImageError) else r.shape for r in results]
            pixels = [r.tobytes() for r in results if not isinstance(r, BadImageError)]
            _send(sink, shapes, pixels)


if __name__ == "__main__":
    main()

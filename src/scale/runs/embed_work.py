"""Embed consecutive images of an archive, while threads decode the next ones."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from scale.data.archive import Archive, Block, Piece
from scale.methods import Learner
from scale.methods.core.learner import CHUNK
from scale.runs.embed_parts import PART, Part

PIECE = 32  # images that a thread decodes at a time
Read = Callable[[Piece], Block]


def embedded_parts(
    learner: Learner,
    archive: Archive,
    missing: list[int],
    read: Read,
    workers: int,
    step: Callable[[Part, int], None],
) -> Generator[tuple[int, Part]]:
    """Yield the missing parts; read consecutive ones in one pass.

    Parameters
    ----------
    learner
        The learner.
    archive
        The images.
    missing
        Numbers of the parts to make, sorted.
    read
        Decodes images to the shape of the learner's.
    workers
        Number of threads that call `read`.
    step
        Called after each chunk with its embeddings and the number of its images.
    """
    left = set(missing)
    for begin in [number for number in missing if number - 1 not in left]:
        at = begin * PART
        end = next(number for number in range(begin, begin + len(left) + 1) if number not in left)
        stop = min(end * PART, archive.total)
        chunks: list[Part] = []
        for chunk in embedded_chunks(learner, archive, at, stop, read, workers):
            size = min(CHUNK, stop - at)
            step(chunk, size)
            chunks.append(chunk)
            at += size
            if at % PART == 0 or at == stop:
                yield (at - 1) // PART, joined(chunks)
                chunks = []


def embedded_chunks(
    learner: Learner, archive: Archive, start: int, stop: int, read: Read, workers: int
) -> Iterator[Part]:
    """Yield the embeddings of `CHUNK` images at a time, the unreadable ones among them left out.

    Pillow releases the interpreter's lock, so threads use all cores. Processes were no faster, and
    each needs memory of its own.
    """
    pieces = archive.pieces(start, stop, PIECE)
    pool = ThreadPoolExecutor(workers)
    running: deque[Future[Block]] = deque()

    def fill() -> None:
        while len(running) < CHUNK // PIECE + 2 * workers:
            piece = next(pieces, None)
            if piece is None:
                return
            running.append(pool.submit(read, piece))

    try:
        with warnings.catch_warnings():
            # We report an unreadable image once; Pillow would warn about odd ones as well.
            warnings.filterwarnings("ignore", module="PIL")
            for _ in range(start, stop, CHUNK):
                blocks: list[Block] = []
                fill()
                while running and len(blocks) < CHUNK // PIECE:
                    blocks.append(running.popleft().result())
                    fill()
                yield _embed(learner, blocks)
    finally:
        pool.shutdown(cancel_futures=True)


def joined(chunks: list[Part]) -> Part:
    """Return consecutive chunks as one part."""
    full = [chunk.z for chunk in chunks if len(chunk.z)]
    z = np.concatenate(full) if full else np.empty((0, 0), np.float32)
    return Part(z, [one for chunk in chunks for one in chunk.skipped])


def _embed(learner: Learner, blocks: list[Block]) -> Part:
    skipped = [one for _, some in blocks for one in some]
    images = [block for block, _ in blocks if len(block)]
    if not images:
        return Part(np.empty((0, 0), np.float32), skipped)
    return Part(learner.transform(np.concatenate(images)), skipped)

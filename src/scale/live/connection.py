"""SQLite connections: one for each thread, transactions, and errors that say what to do."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from scale._errors import DamagedFileError, InputError, UnwritableError

BUSY_SECONDS = 30.0
_FULL = (sqlite3.SQLITE_FULL,)
_CLOSED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Connections:
    """The connections to one database file. Any thread may use it; each gets its own.

    Parameters
    ----------
    path
        The file; it is made when a first table is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own = threading.local()
        self._all: set[sqlite3.Connection] = set()
        self._lock = threading.Lock()

    @property
    def here(self) -> sqlite3.Connection:
        """The connection of this thread."""
        found: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if found is None:
            with self.telling():
                found = self._open()
            self._own.connection, self._own.depth = found, 0
        return found

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection on which all or none of the block's changes are made.

        A block inside another one of this thread is part of it.
        """
        connection = self.here
        self._own.depth += 1
        try:
            if self._own.depth > 1:
                yield connection
                return
            with self.telling():
                connection.execute("BEGIN IMMEDIATE")
            try:
                with self.telling():
                    yield connection
                    connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have ended it
                    connection.execute("ROLLBACK")
                raise
        finally:
            self._own.depth -= 1

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
        self._own = threading.local()

    def prepare(self) -> None:
        """Set what a database file keeps for ever; call it before the first table is made."""
        connection = self.here
        with self.telling():
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """Turn SQLite's errors into messages that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = FULL")
        with self._lock:
            self._all.add(connection)
        return connection

    def _explained(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        folder = self.path.parent
        if code in _FULL:
            return UnwritableError(f"no space left on the disk of {folder}; free some")
        if code == sqlite3.SQLITE_IOERR:
            return UnwritableError(
                f"the disk of {folder} cannot be written or read ({error}); free some space, or "
                "check the disk"
            )
        if code in _CLOSED:
            return UnwritableError(f"cannot open or write {self.path} ({error}); change that")
        if code in _DAMAGED:
            return DamagedFileError(f"{self.path} is damaged ({error}); put back a copy of it")
        if code == sqlite3.SQLITE_BUSY:
            return InputError(
                f"another process has used {self.path} for {BUSY_SECONDS:.0f} seconds; try again"
            )
        return error

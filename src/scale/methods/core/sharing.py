"""A learner in several threads: one changes it, others read copies of it between batches."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from scale._errors import InputError
from scale.methods.core.state import State, flatten

if TYPE_CHECKING:
    from scale.methods.core.learner import Learner

L = TypeVar("L", bound="Learner")
PATIENCE = 5  # batches without a reader after which no more copies are made


class Sharing:
    """Takes turns between the threads that use one learner.

    A batch is learned in one turn, so batches of two threads come one after the other. The thread
    that has learned alone for a while reads the learner itself. Every other thread reads a copy
    made between two batches. If such a thread has read lately, the copy is made before the batch,
    so no reader waits for it to end.
    """

    def __init__(self) -> None:
        self._turns = threading.Condition()
        self._busy: int | None = None  # thread whose turn it is
        self._depth = 0  # of nested turns
        self._home = threading.get_ident()  # thread that learned last
        self._stayed = PATIENCE  # batches that it learned in a row
        self._unread = PATIENCE  # batches since another thread read
        self._copy: Copy | None = None  # of the state after the last whole batch
        self._started: Learner | None = None  # a learner of this shape, for copies
        self._starting = threading.Lock()

    @contextlib.contextmanager
    def changing(self, learner: Learner) -> Iterator[None]:
        """Give this thread a turn to change the learner.

        If it fails, readers keep the copy that they had before, and an unstarted learner stays so.
        """
        outermost = self._begin()
        try:
            if outermost:
                self._move_home()
                self._copy_for_readers(learner)
            with _unstarted_if_it_fails(learner):
                yield
            if outermost:
                self._changed()
        finally:
            self._end()

    @contextlib.contextmanager
    def reading(self, learner: L) -> Iterator[L]:
        """Yield the learner, or a copy, in the state after a whole batch."""
        with self._turn_to_read(learner) as mine:
            if mine:
                yield learner
            else:
                with self._latest(learner).reading(self) as still:
                    yield cast("L", still)

    @contextlib.contextmanager
    def saving(self, learner: Learner) -> Iterator[tuple[State, dict[str, Any]]]:
        """Yield the state after a whole batch and its description, to be read only."""
        with self._turn_to_read(learner) as mine:
            if mine:
                yield learner.state_dict(), learner.describe()
            else:
                latest = self._latest(learner)
                yield latest.state(), latest.meta

    def state(self, learner: Learner) -> State:
        """Return the state after a whole batch; a copy, if this thread reads copies."""
        with self._turn_to_read(learner) as mine:
            if not mine:
                return _cloned(self._latest(learner).state())
            if learner.image_shape_ is None:
                raise _unstarted()
            return flatten(learner.parts(), learner.step_)

    def start_like(self, wanted: Copy) -> Learner:
        """Return a started learner without a state, with the parameters of a copy."""
        with self._starting:
            ready = self._started
            if (
                ready is None
                or ready.image_shape_ != wanted.image_shape
                or ready.get_params() != wanted.params
            ):
                assert wanted.image_shape is not None
                ready = wanted.method(**wanted.params)
                ready.recall(wanted.meta)
                ready.start(wanted.image_shape)
                self._started = ready
            return copy.deepcopy(ready)  # faster than to draw its weights again

    def adopt(self) -> None:
        """Make this thread the one that reads the learner itself."""
        self._home = threading.get_ident()

    def _begin(self) -> bool:
        """Wait for a turn; return whether it is not inside another of this thread."""
        me = threading.get_ident()
        with self._turns:
            self._turns.wait_for(lambda: self._busy in (None, me))
            self._busy = me
            self._depth += 1
            return self._depth == 1

    @contextlib.contextmanager
    def _turn_to_read(self, learner: Learner) -> Iterator[bool]:
        """Give this thread a turn and yield True, if it may read the learner itself."""
        depth = self._begin_to_read()
        try:
            if depth == 1:
                self._copy_for_readers(learner)
            yield depth > 0
        finally:
            if depth > 0:
                self._end()

    def _begin_to_read(self) -> int:
        """Begin a turn and return its depth; return 0 if this thread has to read a copy."""
        me = threading.get_ident()
        with self._turns:
            while self._busy != me:
                if self._home != me:
                    self._unread = 0
                if self._home != me or self._stayed < PATIENCE:
                    return 0
                if self._busy is None:
                    self._busy = me
                else:
                    self._turns.wait()
            self._depth += 1
            return self._depth

    def _end(self) -> None:
        with self._turns:
            self._depth -= 1
            if self._depth == 0:
                self._busy = None
                self._turns.notify_all()

    def _move_home(self) -> None:
        me = threading.get_ident()
        with self._turns:
            if me != self._home:
                self._home, self._stayed = me, 0

    def _copy_for_readers(self, learner: Learner) -> None:
        if self._copy is None and self._unread < PATIENCE:
            self._set_copy(Copy(learner))

    def _set_copy(self, made: Copy | None) -> None:
        with self._turns:
            self._copy = made
            self._turns.notify_all()

    def _changed(self) -> None:
        with self._turns:
            self._copy = None
            self._stayed += 1
            self._unread += 1
            if self._unread == PATIENCE:
                self._started = None

    def _latest(self, learner: Learner) -> Copy:
        """Return the copy of the last whole batch; make it, if no batch is being learned."""
        with self._turns:
            self._turns.wait_for(lambda: self._busy is None or self._copy is not None)
            latest = self._copy
            if latest is not None and (self._busy is not None or latest.is_current(learner)):
                return latest
            self._busy, self._depth = threading.get_ident(), 1
        try:
            latest = Copy(learner)
            self._set_copy(latest)
            return latest
        finally:
            self._end()


class Copy:
    """The state of a learner between two batches, and on demand a learner with that state.

    Parameters
    ----------
    learner
        The learner, in a turn of this thread.
    """

    def __init__(self, learner: Learner) -> None:
        self.method = type(learner)
        self.params = learner.get_params()
        self.image_shape = learner.image_shape_
        self.meta = learner.describe()
        self._state: State = {}
        if self.image_shape is not None:
            self._state = _cloned(learner.state_dict())
        self._still: Learner | None = None
        self._lock = threading.RLock()

    def is_current(self, learner: Learner) -> bool:
        """Return whether an unstarted learner still has these parameters."""
        return self.image_shape is not None or self.params == learner.get_params()

    def state(self) -> State:
        """Return the state, to be read only."""
        if self.image_shape is None:
            raise _unstarted()
        with self._lock:
            if self._still is None:
                return self._state
            self._still._sharing.adopt()
            return self._still.state_dict()

    @contextlib.contextmanager
    def reading(self, sharing: Sharing) -> Iterator[Learner]:
        """Yield a learner with this state; one thread at a time reads it."""
        with self._lock:
            if self._still is None:
                self._still = self._restored(sharing)
                self._state = {}
            self._still._sharing.adopt()
            yield self._still

    def _restored(self, sharing: Sharing) -> Learner:
        if self.image_shape is None:
            return self.method(**self.params)
        still = sharing.start_like(self)
        still.load_state_dict(self._state)
        return still


@contextlib.contextmanager
def _unstarted_if_it_fails(learner: Learner) -> Iterator[None]:
    before = dict(vars(learner))
    try:
        yield
    except BaseException:
        if "image_shape_" not in before:
            vars(learner).clear()
            vars(learner).update(before)
        raise


def _unstarted() -> InputError:
    return InputError("nothing to save yet: call partial_fit first")


def _cloned(state: State) -> State:
    return {name: tensor.detach().clone() for name, tensor in state.items()}

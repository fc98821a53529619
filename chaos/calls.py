"""Call one public function with wrong arguments, in a child that writes what it finds."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import io
import json
import os
import signal
import traceback
import zlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisException

from chaos.judge import cause
from chaos.public import Subject, signature_of, title_of, value_of
from chaos.values import WORK
from chaos.world import World

EXAMPLES = 5
"""Wrong values of each parameter."""
CALL_SECONDS = 10
NOT_VALID = 3
"""Exit status when no valid call is known."""
FOUND = "found.jsonl"
"""The file with a line for each call and each failure."""
TO_REGISTER = "register_"


@functools.cache
def known(world: World) -> dict[str, Any]:
    """Return the valid arguments; made once, before the children need them."""
    from chaos.arguments import valid

    return valid(world)


def try_all(world: World, subject: Subject, chosen: int) -> int:
    """Call one function with wrong values for each of its parameters in turn."""
    from chaos.arguments import SPECIAL, example, wrong

    values = {**known(world), **SPECIAL.get(title_of(subject), {})}
    target = _target(subject, values)
    base, hints = {}, {}
    signature = signature_of(target)
    assert signature is not None
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hints[name] = str(parameter.annotation)
        if parameter.default is parameter.empty:
            base[name] = example(values, name, hints[name])
    base.update(_quick(target, hints))
    try:
        _call(target, base)
    except Exception as error:
        if not _is_ours(error, lenient=False):
            traceback.print_exc()
            return NOT_VALID
    with open(FOUND, "a") as log:
        for name, hint in hints.items():
            if name in WORK:
                continue
            _try_one(log, subject, target, base, name, wrong(hint), chosen, hint)
    return 0


def _target(subject: Subject, known: dict[str, Any]) -> Callable[..., Any]:
    value = value_of(subject.name)
    if subject.name.split(".")[-1].startswith(TO_REGISTER):
        return lambda name: value(name)(_made)  # under a new name each time
    if subject.method:
        made = {"ScalePlus": lambda: value(encoder="cnn", steps_per_batch=1, memory_size=16),
                "Stream": lambda: value(known["images"], batch_size=8)}  # fmt: skip
        thing = made[subject.name.split(".")[-1]]()
        if hasattr(thing, "partial_fit"):
            thing.partial_fit(known["images"][:8])
        bound: Callable[..., Any] = getattr(thing, subject.method)
        return bound
    if inspect.isclass(value) and hasattr(value, "partial_fit"):
        return _learning(value, known["images"])
    called: Callable[..., Any] = value
    return called


def _made() -> None:
    """What is registered."""


def _learning(kind: Any, images: Any) -> Callable[..., Any]:
    """Return a function that makes a learner and uses it: parameters are checked at its start."""

    @functools.wraps(kind)
    def learn(**params: Any) -> Any:
        learner = kind(**params)
        labels = [0, 1] * 4 if learner.needs_labels else None
        return learner.partial_fit(images[:8], labels).transform(images[:2])

    learn.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    return learn


def _quick(target: Any, hints: dict[str, str]) -> dict[str, Any]:
    """Return arguments that make a learner small."""
    small = {"encoder": "cnn", "steps_per_batch": 1, "memory_size": 16, "memory_batch": 8}
    if "receptive_fields" in hints:  # they are larger than our images
        small["image_side"] = 24
    learner = hasattr(target, "__wrapped__")
    return {name: value for name, value in small.items() if learner and name in hints}


def _try_one(
    log: Any, subject: Subject, target: Any, base: dict[str, Any], name: str,
    strategy: Any, chosen: int, hint: str,
) -> None:  # fmt: skip
    @seed(zlib.crc32(f"{chosen} {name}".encode()))
    @settings(max_examples=EXAMPLES, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def attempt(wrong: Any) -> None:
        shown = f"{title_of(subject)}({name}={_shown(wrong.value)})"
        _note(log, tried=shown)
        try:
            _call(target, {**base, name: wrong.value})
        except _Late:
            _note(log, finding=("hang", f"no answer: {shown}", ""))
        except Exception as error:
            lenient = not subject.strict and wrong.of_type
            if not _is_ours(error, lenient):
                text = "".join(traceback.format_exception(error))
                _note(log, finding=("raw", f"{cause(text)} [{title_of(subject)}({name}=…)]",
                                    f"{shown}\n{text[-1500:]}"))  # fmt: skip
        else:
            if subject.strict and wrong.of_type and _certain(hint, wrong.value):
                _note(log, finding=("silent", f"{title_of(subject)}({name}=…) accepts "
                                    f"{type(wrong.value).__name__}", shown))  # fmt: skip

    try:
        attempt()
    except HypothesisException as error:
        _note(log, finding=("broken", f"{type(error).__name__}: {error}", ""))


def _certain(hint: str, value: Any) -> bool:
    """Return whether a value of the wrong type can never be meant: not True for 1, or a path."""
    numbers = "int" in hint.split("[")[0] and "Any" not in hint
    return numbers and isinstance(value, str | list | dict | float) and "str" not in hint


class _Late(BaseException):
    """A call took too long."""


def _call(target: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Call with a limit of computing time; a generator is read for a few steps."""

    def late(number: int, frame: Any) -> None:
        raise _Late

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            value = target(**arguments)
            if inspect.isgenerator(value):
                for _ in zip(range(5), value, strict=False):
                    pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _is_ours(error: Exception, lenient: bool) -> bool:
    """Return whether an exception is documented: of `scale._errors`, or raised by our code.

    Inside the sub-packages a wrong type may also give what Python itself says of it.
    """
    from scale._errors import ScaleError

    if isinstance(error, ScaleError) or (lenient and isinstance(error, TypeError | AttributeError)):
        return True
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError) and lenient:
        return True
    return isinstance(error, TypeError | ValueError) and _raised_by_us(error.__traceback__)


def _raised_by_us(trace: TracebackType | None) -> bool:
    """Return whether the last frame is of our package, at a ``raise``."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or f"{os.sep}scale{os.sep}" not in trace.tb_frame.f_code.co_filename:
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    text = repr(value) if shape is None else f"{type(value).__name__}{tuple(shape)} {value.dtype}"
    return text if len(text) < 80 else f"{text[:77]}..."


def _note(log: Any, **line: Any) -> None:
    log.write(json.dumps(line) + "\n")
    log.flush()

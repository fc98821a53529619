"""Other threads that use a learner while it learns: they must change nothing and see no half."""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chaos import execute
from chaos.judge import Case, Finding, Result, cause
from chaos.world import World

PART = "threads"
BATCHES, SIZE = 10, 8
SOME = 5
SAVED = 30
"""Files that a saving thread writes to in turn."""
ACTS = ("transform", "save", "load", "guard")


def subjects(world: World) -> list[str]:
    """Return the methods that a whole campaign tries."""
    from scale.methods import METHODS

    return list(METHODS)


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield each act in another thread: the first two for each method, the others for some."""
    from scale.methods import METHODS

    for number, act in enumerate(ACTS):
        for method in METHODS if number < 2 else rng.sample(sorted(METHODS), SOME):
            yield _case(world, method, act)


def _case(world: World, method: str, act: str) -> Case:
    def run(folder: Path) -> Result:
        outcome = execute.call(lambda: _try(world, method, act), folder)
        told = folder / "found.json"
        if outcome.hung:
            return Result([Finding("hang", f"{act} while learning", outcome.err)])
        if not told.exists():
            return Result([Finding("crash", f"{act} while learning", outcome.err[-3000:])])
        return Result([Finding(*one) for one in json.loads(told.read_text())])

    command = f"{method}: {act}() in a thread during partial_fit"
    return Case(PART, f"{act} {method}", method, run, command)


def _try(world: World, method: str, act: str) -> int:
    """Learn alone, then with the other thread; write what differs to ``found.json``."""
    sys.setswitchinterval(1e-5)
    images = np.load(world.root / "data" / "images.npy")[:, None]
    labels = np.arange(len(images)) % 3
    alone = _learn(world, method, images, labels)
    found = _disturbed(world, method, act, images, labels, alone)
    Path("found.json").write_text(json.dumps(found))
    return 0


def _learn(world: World, method: str, images: Any, labels: Any) -> dict[str, list[str]]:
    """Return the digests of state and features after each batch."""
    learner = _new(world, method, images, labels)
    seen: dict[str, list[str]] = {"state": [], "features": []}
    for number in range(1, BATCHES):
        seen["state"].append(_state(learner))
        seen["features"].append(_digest(learner.transform(images[:SIZE])))
        _fit(learner, images, labels, number)
    seen["state"].append(_state(learner))
    seen["features"].append(_digest(learner.transform(images[:SIZE])))
    return seen


def _disturbed(
    world: World, method: str, act: str, images: Any, labels: Any, alone: dict[str, list[str]]
) -> list[tuple[str, str, str]]:
    import scale

    learner = _new(world, method, images, labels)
    done, results, errors = threading.Event(), list[str](), list[BaseException]()
    learner.save(Path("other.safetensors"))

    def once(number: int) -> None:
        if act == "transform":
            results.append(_digest(learner.transform(images[:SIZE])))
        elif act == "save":
            learner.save(Path(f"saved-{number % SAVED}.safetensors"))
        elif act == "load":
            scale.load(Path("other.safetensors")).transform(images[:SIZE])
        else:
            scale.guard(learner)

    def loop() -> None:
        number = 0
        try:
            while not done.is_set():
                once(number := number + 1)
        except BaseException as error:
            errors.append(error)

    found = _learn_beside(learner, loop, done, errors, act, (images, labels), alone["state"])
    whole = alone["state" if act == "save" else "features"]
    results += [_state(scale.load(path)) for path in sorted(Path().glob("saved-*.safetensors"))]
    half = sum(one not in whole for one in results)
    if half:
        what = f"{act} sees a state that is none between batches"
        found.append(("different", what, f"{half} of {len(results)}"))
    return found


def _learn_beside(
    learner: Any,
    loop: Callable[[], None],
    done: threading.Event,
    errors: list[BaseException],
    act: str,
    data: tuple[Any, Any],
    alone: list[str],
) -> list[tuple[str, str, str]]:
    """Learn while `loop` runs in another thread, and compare each state with learning alone."""
    other = threading.Thread(target=loop)
    other.start()
    states, found = [_state(learner)], list[tuple[str, str, str]]()
    try:
        for number in range(1, BATCHES):
            _fit(learner, *data, number)
            states.append(_state(learner))
    except Exception as error:
        found.append(("raw", f"{act} breaks partial_fit: {_in_a_line(error)}", ""))
    finally:
        done.set()
        other.join()
    found += [("raw", f"{act} while learning: {_in_a_line(error)}", "") for error in errors]
    if states != alone[: len(states)]:
        found.append(("different", f"{act} in another thread changes what is learned", ""))
    return found


def _in_a_line(error: BaseException) -> str:
    import traceback

    return cause("".join(traceback.format_exception(error)))


def _new(world: World, method: str, images: Any, labels: Any) -> Any:
    """Return a learner after its first batch."""
    from scale.methods import METHODS

    names = ("encoder", "steps_per_batch", "memory_size", "clusters", "image_side")
    pairs = zip(world.quick(method)[::2], world.quick(method)[1::2], strict=True)
    params = {k[2:].replace("-", "_"): v for k, v in pairs}
    chosen = {k: v if k == "encoder" else int(v) for k, v in params.items() if k in names}
    made: Any = METHODS[method]
    learner = made(**chosen)
    _fit(learner, images, labels, 0)
    return learner


def _fit(learner: Any, images: Any, labels: Any, number: int) -> None:
    rows = np.arange(number * SIZE, (number + 1) * SIZE) % len(images)
    learner.partial_fit(images[rows], labels[rows] if learner.needs_labels else None)


def _state(learner: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(learner.state_dict().items()):
        digest.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def _digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()

"""The state of a learner's parts as one flat dictionary of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from scale._errors import ContractError, DamagedFileError
from scale.memory import Buffer

Part = nn.Module | Optimizer | Buffer | torch.Generator | Tensor
State = dict[str, Tensor]


STEP = "step"  # no part's tensor has a name without a dot


def flatten(parts: Mapping[str, Part], step: int) -> State:
    """Return the state of each part under ``<part>.<name>``, and the number of batches learned."""
    state = {
        f"{part}.{name}": tensor
        for part, thing in parts.items()
        for name, tensor in _state_of(thing).items()
    }
    return {**state, STEP: torch.tensor(step)}


def step_in(state: State) -> int:
    """Return the number of batches learned; raise `DamagedFileError` if the state has none."""
    step = state.get(STEP)
    if step is None or step.shape != () or step.dtype != torch.int64 or step < 0:
        raise DamagedFileError("the state has no number of batches learned")
    return int(step)


def unflatten(parts: Mapping[str, Part], state: State) -> None:
    """Restore the parts from a state that `flatten` made.

    Raises
    ------
    DamagedFileError
        A tensor is missing, or its shape or type is not that of its part.
    """
    for part, thing in parts.items():
        prefix = f"{part}."
        own = {
            name.removeprefix(prefix): tensor
            for name, tensor in state.items()
            if name.startswith(prefix)
        }
        try:
            _load(thing, own)
        except (RuntimeError, KeyError, IndexError, ValueError, TypeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error).strip()
            raise DamagedFileError(
                f"the state of {part!r} does not fit: {' '.join(reason.split())}"
            ) from error


def check_saved(learner: object, params: Iterable[str], parts: Mapping[str, Part]) -> None:
    """Raise `ContractError` if a learner holds state that its `parts` do not name.

    Parameters
    ----------
    learner
        Its attributes are searched for modules, optimisers, memories and generators.
    params
        Names of its parameters, which are not state.
    parts
        The parts that it saves.
    """
    saved = {id(inner) for part in parts.values() for inner in _contents(part)}
    for name, value in vars(learner).items():
        has_state = isinstance(value, nn.Module | Optimizer | Buffer | torch.Generator)
        if has_state and name not in set(params) and id(value) not in saved:
            raise ContractError(
                f"{type(learner).__name__}.{name} would not be saved; return it from parts(), or "
                "from heads() when it is a module to be trained"
            )


def check_trained(learner: object, params: Iterable[str], optimizer: Optimizer) -> None:
    """Raise `ContractError` if the optimiser misses a weight that requires gradients."""
    trained = {id(parameter) for parameter in _parameters(optimizer)}
    for name, value in vars(learner).items():
        if not isinstance(value, nn.Module) or name in set(params):
            continue
        if any(p.requires_grad and id(p) not in trained for p in value.parameters()):
            raise ContractError(
                f"{type(learner).__name__}.{name} has weights that no update changes; return the "
                "module from heads(), or freeze it with requires_grad_(False)"
            )


def _contents(part: Part) -> Iterator[object]:
    yield part
    if isinstance(part, nn.Module):
        yield from part.modules()


def _state_of(part: Part) -> State:
    if isinstance(part, torch.Generator):
        return {"state": part.get_state()}
    if isinstance(part, Tensor):
        return {"value": part}
    if isinstance(part, Optimizer):
        return {
            f"{i}.{name}": value
            for i, parameter in enumerate(_parameters(part))
            for name, value in part.state[parameter].items()
            if isinstance(value, Tensor)
        }
    return dict(part.state_dict())


def _load(part: Part, state: State) -> None:
    if isinstance(part, torch.Generator):
        part.set_state(state["state"])
    elif isinstance(part, Tensor):
        part.copy_(_like(state["value"], part, "value"))
    elif isinstance(part, Optimizer):
        parameters = _parameters(part)
        for key, value in state.items():
            index, name = key.split(".", 1)
            parameter = parameters[int(index)]
            if value.dim():  # not a count of steps
                _like(value, parameter, key)
            part.state[parameter][name] = value.to(parameter.device, copy=True)
    elif isinstance(part, Buffer):
        _check_memory(part, state)
        part.load_state_dict(state)
    else:
        part.load_state_dict(state)


def _like(value: Tensor, wanted: Tensor, name: str) -> Tensor:
    """Return `value` if it has the shape and the type of `wanted`; torch would broadcast it."""
    if value.shape != wanted.shape or value.dtype != wanted.dtype:
        raise ValueError(
            f"{name} is {value.dtype} of shape {tuple(value.shape)}, expected {wanted.dtype} of "
            f"shape {tuple(wanted.shape)}"
        )
    return value


def _check_memory(memory: Buffer, state: State) -> None:
    """Raise `ValueError` unless every row of the state belongs to an image that fits in memory."""
    images, held = state["images"], len(state["images"])
    if images.dtype != torch.uint8 or (images.dim() != 4 and held) or held > memory.size:
        raise ValueError(
            f"images are {images.dtype} of shape {tuple(images.shape)}, expected at most "
            f"{memory.size} of torch.uint8"
        )
    _like(state["arrivals"], torch.empty(held, dtype=torch.int64), "arrivals")
    for name, rows in state.items():
        if name.startswith("columns.") and len(rows) != held:
            raise ValueError(f"{name} has {len(rows)} rows for {held} images")
    if held and not 0 <= int(state["arrivals"].min()) <= int(state["arrivals"].max()) < int(
        state["seen"]
    ):
        raise ValueError(f"arrivals are outside of the {int(state['seen'])} images seen")


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]

"""The state of a learner's parts as one flat dictionary of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from scale._errors import ContractError
from scale.memory import Buffer

Part = nn.Module | Optimizer | Buffer | torch.Generator | Tensor
State = dict[str, Tensor]


def flatten(parts: Mapping[str, Part]) -> State:
    """Return the state of each part under ``<part>.<name>``."""
    return {
        f"{part}.{name}": tensor
        for part, thing in parts.items()
        for name, tensor in _state_of(thing).items()
    }


def unflatten(parts: Mapping[str, Part], state: State) -> None:
    """Restore the parts from a state that `flatten` made."""
    for part, thing in parts.items():
        prefix = f"{part}."
        _load(
            thing,
            {
                name.removeprefix(prefix): tensor
                for name, tensor in state.items()
                if name.startswith(prefix)
            },
        )


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
        part.copy_(state["value"])
    elif isinstance(part, Optimizer):
        parameters = _parameters(part)
        for key, value in state.items():
            index, name = key.split(".", 1)
            parameter = parameters[int(index)]
            part.state[parameter][name] = value.to(parameter.device, copy=True)
    else:
        part.load_state_dict(state)


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]

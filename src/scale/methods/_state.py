"""The state of a learner's parts as one flat dictionary of tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from scale.memory import Memory

Part = nn.Module | Optimizer | Memory | torch.Generator | Tensor
State = dict[str, Tensor]


def flatten(parts: Mapping[str, Part]) -> State:
    """Return the state of each part under ``<part>.<name>``."""
    return {
        f"{part}.{name}": tensor
        for part, thing in parts.items()
        for name, tensor in _state_of(thing).items()
    }


def unflatten(parts: Mapping[str, Part], state: State) -> None:
    """Put a state that `flatten` made back into the parts."""
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

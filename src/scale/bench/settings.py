"""Settings of a run by name, from an experiment or the command line."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from scale._errors import InputError, UnknownNameError
from scale._names import did_you_mean
from scale._schema import misfit
from scale.methods import METHODS, Learner
from scale.runs import RunConfig, parameters

RUN_FIELDS = {field.name for field in dataclasses.fields(RunConfig)} - {"params"}
PRESET = "preset"  # sets parameters; a run does not keep its name


def make_config(settings: dict[str, Any]) -> RunConfig:
    """Return the config that `scale run` makes of these settings.

    It ignores parameters and presets that the method does not have, so a grid over methods may
    vary a parameter that only some of them have.

    Examples
    --------
    >>> make_config({"dataset": "digits", "method": "scale", "mu": 0.2}).params["mu"]
    0.2
    """
    run = {name: value for name, value in settings.items() if name in RUN_FIELDS}
    config = RunConfig(**run)
    config.check()
    method = METHODS[config.method]
    preset = settings.get(PRESET)
    return dataclasses.replace(
        config,
        params=parameters(
            config.method,
            config.dataset,
            preset if preset in method.presets else None,
            {name: settings[name] for name in _param_hints(method) if name in settings},
        ),
    )


def check_settings(settings: dict[str, list[Any]], methods: Iterable[str], where: str) -> None:
    """Raise for an unknown setting, and for a value of the wrong type.

    Parameters
    ----------
    settings
        Values by name.
    methods
        Methods whose parameters are allowed.
    where
        Source of the settings, for the message.
    """
    types_of = {method: METHODS[method] for method in methods}
    run_hints = typing.get_type_hints(RunConfig)
    for name, values in settings.items():
        if name == PRESET:
            _check_presets(values, types_of, where)
            continue
        if name in RUN_FIELDS:
            hints = [run_hints[name]]
        else:
            hints = [h[name] for h in map(_param_hints, types_of.values()) if name in h]
        if not hints:
            raise _unknown(name, types_of, where)
        for value in values:
            wrong = [misfit(value, hint) for hint in hints]
            if all(wrong):
                raise InputError(f"{where}: {name} must be {wrong[0]}, got {value!r}")


def parse_value(text: str) -> Any:
    """Return the value of a word on the command line.

    Examples
    --------
    >>> [parse_value(word) for word in ("0.1", "3", "true", "none", "seq-im")]
    [0.1, 3, True, None, 'seq-im']
    """
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@lru_cache(maxsize=256)
def _param_hints(method: type[Learner]) -> dict[str, Any]:
    hints = typing.get_type_hints(method)
    names = {field.name for field in dataclasses.fields(method)} - {"seed"}
    return {name: hints[name] for name in names}


def _check_presets(values: list[Any], methods: dict[str, type[Learner]], where: str) -> None:
    known = sorted({preset for method in methods.values() for preset in method.presets})
    for value in values:
        if value not in known:
            raise InputError(
                f"{where}: none of its methods has a preset {value!r} "
                f"(known: {', '.join(known) or 'none'})"
            )


def _unknown(name: str, methods: dict[str, type[Learner]], where: str) -> UnknownNameError:
    known = RUN_FIELDS.union({PRESET}, *map(_param_hints, methods.values()))
    others = [other for other in METHODS if name in _param_hints(METHODS[other])]
    hint = did_you_mean(name, known)
    if others:
        hint = f"; {others[0]} has it: leave it out, or add a method that has it"
    named = ", ".join(sorted(methods))
    return UnknownNameError(f"{where}: neither a run nor {named} has a setting {name!r}{hint}")

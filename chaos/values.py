"""Bad values for options, by type; each says whether it must be refused."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.parser import Option

Value = tuple[str, bool]
"""A text for the command line, and whether accepting it is certainly wrong."""
WRONG, OPEN = True, False
INTS: tuple[Value, ...] = (
    ("-1", WRONG),
    ("0", OPEN),
    ("1.5", WRONG),
    ("nan", WRONG),
    ("x", WRONG),
    ("", WRONG),
    ("inf", WRONG),
    ("10000000000", OPEN),
    ("-10000000000", WRONG),
    ("99999999999999999999999", OPEN),
    ("1000000000", OPEN),
    ("20000", OPEN),
    ("0x10", WRONG),
    ("1e3", WRONG),
    ("9" * 5000, WRONG),
)
FLOATS: tuple[Value, ...] = (
    ("nan", WRONG),
    ("-1", OPEN),
    ("x", WRONG),
    ("-inf", WRONG),
    ("0", OPEN),
    ("", WRONG),
    ("inf", OPEN),
    ("1e400", OPEN),
    ("1e-320", OPEN),
    ("1e30", OPEN),
    ("1,5", WRONG),
    ("-1e30", OPEN),
)
NAMES: tuple[Value, ...] = (
    ("no-such-name", WRONG),
    ("../..", WRONG),
    ("x\x1b[31mred\x07", WRONG),
    ("a\nb", WRONG),
    ("", OPEN),
    ("x" * 5000, WRONG),
    ("caf\udce9", WRONG),  # a byte that is not UTF-8
    ("/dev/null", WRONG),
    ("-", WRONG),
    ("--", OPEN),
    ("a/b", WRONG),
    ("nan", OPEN),
    ("0", OPEN),
    ("x.py", WRONG),
    ("own.py:Nothing", WRONG),
    ("[red]x[/blue]", WRONG),
    ("9" * 5000, WRONG),
)
READ_PATHS: tuple[Value, ...] = (
    ("no-such-file", WRONG),
    ("/dev/null", WRONG),
    ("../..", WRONG),
    ("", WRONG),
    ("x" * 5000, WRONG),
    ("x\x1b[31mred\x07", WRONG),
    ("a\nb", WRONG),
    ("caf\udce9", WRONG),
    ("/proc/self/mem", WRONG),
)
WRITE_PATHS: tuple[Value, ...] = (  # the devices are in the folder of the case
    ("/dev/null/x/y", WRONG),
    ("/proc/nothing/x", WRONG),
    ("x" * 300, WRONG),
    ("", WRONG),
    ("../..", OPEN),
    ("a\nb", OPEN),
    ("caf\udce9", OPEN),
    ("x\x1b[31mred\x07", OPEN),
    (".", OPEN),
    ("full-device", OPEN),
    ("link-to-full", OPEN),
)
WRITTEN = {"out", "to", "figures"}
"""Path options that name what is written; all others are read."""
FREE_TEXT = {"name": ("name",)}
"""Options that take any text, by command."""
UNBOUNDED = {"checkpoint_seconds", "gpus"}
"""Numbers of which infinity can be meant."""
WORK = {"steps_per_batch", "updates"}
"""Numbers of which more means only a longer run, as asked."""
ENOUGH = 100


def values(option: Option) -> Iterator[Value]:
    """Yield bad values for an option, the most telling first."""
    match option.kind:
        case "int":
            yield from (one for one in INTS if not (option.name in WORK and _large(one[0])))
        case "float":
            finite = option.name not in UNBOUNDED
            for text, wrong in FLOATS:
                yield text, wrong or (finite and text in ("inf", "1e400"))
        case "choice":
            yield from (("x", WRONG), ("", WRONG), (option.choices[0].upper(), OPEN))
            yield from ((name, OPEN) for name in option.choices)
        case "path":
            yield from WRITE_PATHS if option.name in WRITTEN else READ_PATHS
        case "str":
            for text, wrong in NAMES:
                yield text, wrong and not is_free(option)
            yield from ((name, OPEN) for name in (*option.choices, *registered(option.name)))


def is_free(option: Option) -> bool:
    """Return whether an option takes any text."""
    return option.command[0] in FREE_TEXT.get(option.name, ())


def _large(text: str) -> bool:
    return text.isdigit() and int(text[:20]) > ENOUGH


def registered(option: str) -> list[str]:
    """Return the registered names that an option takes: those of the registry of its name."""
    from scale.data import DATASETS
    from scale.memory import POLICIES
    from scale.methods import METHODS
    from scale.models import ENCODERS
    from scale.streams import STREAMS

    wanted = option.removesuffix("s")
    for registry in (DATASETS, POLICIES, METHODS, ENCODERS, STREAMS):
        if registry.kind.replace(" ", "_") == wanted:
            return list(registry)
    return []

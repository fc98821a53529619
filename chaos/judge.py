"""What counts as a failure, and the records of cases."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaos.execute import Outcome

KINDS = {
    "traceback": "a command ended with an exception that nobody turned into a message",
    "raw": "a public function raised an exception that is not one of ours",
    "silent": "an input that is certainly wrong was accepted, or changed the result without a word",
    "hang": "it did not end within the limit",
    "crash": "the process was ended by a signal that nobody sent",
    "loss": "a file that was there before is changed or gone, or work was thrown away",
    "different": "a disturbed run does not end like an undisturbed one",
    "leftover": "a temporary file stayed behind",
    "mute": "a refusal without a message, or with an unknown exit status",
    "control": "control characters of an input reached the terminal",
    "outside": "a write outside the folder of the campaign was tried",
    "broken": "the case itself could not be made or run",
}
"""The kinds of failure."""
TRACEBACK = "Traceback (most recent call last)"
IGNORED = "Exception ignored in"  # Python's words for an error at its exit
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
OURS = re.compile(r'File "[^"]*[/\\]src[/\\]scale[/\\](?P<file>[^"]+)", line \d+, in (?P<name>\S+)')
EXPECTED = (0, 2, 130)


@dataclass(frozen=True)
class Finding:
    """One failure of one case."""

    kind: str
    """One of `KINDS`."""
    what: str
    """The failure in a line; equal for all cases with the same cause, where that can be known."""
    detail: str = ""
    """The output, or what differs."""


@dataclass
class Result:
    """What a case gave."""

    findings: list[Finding] = field(default_factory=list)
    cases: int = 1
    kills: int = 0
    inside: int = 0
    """Kills inside or between the writes of checkpoints."""


@dataclass(frozen=True)
class Case:
    """One case: `run` gets an empty folder."""

    part: str
    name: str
    """Together with the seed it repeats the case."""
    subject: str
    """The option, file or function that it covers."""
    run: Callable[[Path], Result]
    command: str = ""
    """The command that is tried, for the report."""


def judge(outcome: Outcome, folder: Path, *, must_refuse: bool = False) -> list[Finding]:
    """Return the failures of a command that ran in `folder`."""
    text = f"{outcome.err}\n{outcome.out}"
    detail = text.strip()[-4000:]
    if outcome.hung:
        return [Finding("hang", f"no end after {outcome.seconds:.0f} s", detail)]
    if outcome.signal is not None:
        return [Finding("crash", f"ended by signal {outcome.signal}", detail)]
    logged = [text, *(_text(log) for log in folder.rglob("log.txt"))]
    broken = next((one for one in logged if TRACEBACK in one or IGNORED in one), None)
    if broken is not None or outcome.status in (70, 120):
        return [Finding("traceback", cause(broken or text), (broken or text).strip()[-4000:])]
    found = []
    if must_refuse and outcome.status == 0:
        found.append(Finding("silent", "accepted", detail))
    failed_bench = outcome.status == 1 and "failed" in outcome.out
    if outcome.status not in EXPECTED and not failed_bench:
        found.append(Finding("mute", f"exit status {outcome.status}", detail))
    elif outcome.status != 0 and not text.strip():
        found.append(Finding("mute", f"exit status {outcome.status} without a word"))
    if CONTROL.search(text):
        found.append(Finding("control", "control characters in the output", repr(text)[-4000:]))
    return found


def cause(text: str) -> str:
    """Return the last frame of our code and the exception of a traceback, in one line."""
    last = text[text.rfind(TRACEBACK) :] if TRACEBACK in text else text
    frames = list(OURS.finditer(last))
    where = f"{frames[-1]['file']} {frames[-1]['name']}: " if frames else ""
    lines = [line for line in last.splitlines() if re.match(r"[A-Za-z_][\w.]*(:|$)", line)]
    return (where + (lines[-1] if lines else last.strip()[-100:]))[:240]


def without_numbers(text: str) -> str:
    """Return a text in which numbers, quoted values and paths do not count, to group failures."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text)
    text = re.sub(r"(/[^\s:,;]+)+", "/…", text)
    return re.sub(r"\d[\d.e+]*", "0", text)[:160]


def shell(arguments: list[str] | tuple[str, ...]) -> str:
    """Return arguments as a command for a shell."""
    printable = [
        one.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for one in arguments
    ]
    return shlex.join(["scale", *(one if len(one) < 200 else one[:40] + "…" for one in printable)])


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""

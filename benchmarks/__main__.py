"""Run the benchmarks: ``python -m benchmarks [NAME ...] [--quick] [--json PATH]``.

``--page PATH`` also writes what was measured as a Markdown page. ``--resume FOLDER`` keeps each
finished benchmark until all are done, so a stopped run goes on where it was.
``python -m benchmarks [NAME ...] --table PATH`` prints the rows that ``--json PATH`` saved.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks._measure import Row, machine
from benchmarks._page import cost_text, page
from scale._files import write_atomic
from scale._markdown import markdown

PAGE = (  # the costs of learning and embedding
    "released",
    "before",
    "scale_plus",
    "encoder",
    "augment",
    "losses",
    "psa",
    "memory_update",
    "knn",
    "evaluation",
    "embed",
    "checkpoint",
    "startup",
    "growth",
    "peak_memory",
    "precision",
)
MODULES = (*PAGE, "update", "sharing", "stam", "export", "live_page")
BUSY = 0.5  # load per core above which times are unreliable


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table per benchmark; return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    every = f"default: {', '.join(PAGE)}; also {', '.join(MODULES[len(PAGE) :])}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=every)
    parser.add_argument(
        "--quick", action="store_true", help="use tiny sizes, only to check that the code runs"
    )
    parser.add_argument("--json", type=Path, help="keep every row in this file, as JSON lines")
    parser.add_argument("--page", type=Path, help="write the tables of this run to a Markdown page")
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="do not run again what this folder has"
    )
    parser.add_argument("--table", type=Path, metavar="PATH", help="print saved rows as Markdown")
    args = parser.parse_args(arguments)
    unknown = set(args.names) - set(MODULES)
    if unknown:
        names = ", ".join(sorted(unknown))
        parser.error(f"no benchmark is called {names}; choose from {', '.join(MODULES)}")
    if args.table is not None:
        if not args.table.is_file():
            parser.error(f"there is no file {args.table}; write one with --json {args.table}")
        sys.stdout.write(kept_table(args.table, args.names or PAGE))
        return 0
    torch.set_num_threads(1)  # processor time of several threads includes their waiting
    console = Console()
    where = machine()
    show_machine(console, where)
    measured: dict[str, list[Row]] = {}
    for name in args.names or PAGE:
        module = import_module(f"benchmarks.{name}")
        start = time.perf_counter()
        rows = kept_rows(args.resume, name)
        if rows is None:
            rows = module.main(quick=args.quick)
            keep_rows(args.resume, name, rows)
            if args.json is not None:
                save(args.json, name, [{**cells, "machine": where} for cells in rows])
        measured[name] = rows
        console.print(table(f"{name}: {module.__doc__}", rows))
        console.print(f"[dim]{time.perf_counter() - start:.0f} s[/dim]\n")
        if args.page is not None:
            write_atomic(args.page, page(measured, where))
    for name in args.names or PAGE:  # all are done, so the next run starts anew
        if args.resume is not None:
            (args.resume / f"{name}.json").unlink(missing_ok=True)
    return 0


def kept_rows(folder: Path | None, name: str) -> list[Row] | None:
    """Return the rows of a benchmark that an earlier, stopped run finished; None without them."""
    path = None if folder is None else folder / f"{name}.json"
    if path is None or not path.is_file():
        return None
    rows: list[Row] = json.loads(path.read_text())
    return rows


def keep_rows(folder: Path | None, name: str, rows: list[Row]) -> None:
    """Keep the rows of a finished benchmark."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / f"{name}.json", json.dumps(rows))


def kept_table(path: Path, names: Sequence[str]) -> str:
    """Return the last saved row of each measurement, with its ratio, as Markdown."""
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    last = {(cells["benchmark"], cells["what"]): cells for cells in kept}
    lines = []
    for (benchmark, what), cells in last.items():
        if benchmark not in names:
            continue
        other = cells.get("alternative") or cells.get("limit") or ""
        cost = cells.get("alternative_cost") or cells.get("limit_cost")
        unit = cells["unit"]
        ratio = f"{cells['ours'] / cost:.2f}" if cost else ""
        beside = cost_text(cost, unit) if cost else ""
        lines.append([what, cost_text(cells["ours"], unit), other, beside, ratio])
    return markdown(["what", "cost", "beside", "its cost", "ratio"], lines)


def show_machine(console: Console, where: Row) -> None:
    """Print the machine and the versions; warn when the machine is busy."""
    versions = ", ".join(f"{name} {v}" for name, v in dict(where["versions"]).items())  # type: ignore[call-overload]
    console.print(f"{where['processor']}, {where['cores']} cores, {where['threads']} threads")
    console.print(f"python {where['python']}, {versions}; load {where['load']:.2f}")
    if where["load"] > BUSY * where["cores"]:  # type: ignore[operator]
        console.print("[yellow]the machine is busy: read the ratios rather than the times[/yellow]")


def table(title: str, rows: list[Row]) -> Table:
    """Return the table of one benchmark: each row, then its alternative and its limit."""
    view = Table(title=title, title_justify="left", title_style="bold", show_header=False)
    view.add_column("what", overflow="fold")
    view.add_column("cost", justify="right", no_wrap=True)
    view.add_column("ratio", no_wrap=True)
    for cells in rows:
        unit = cells["unit"]
        view.add_row(
            f"[bold]{cells['what']}", cost_text(cells["ours"], unit), str(cells.get("note", ""))
        )
        if "alternative" in cells:
            ratio = f"{cells['alternative_over_ours']:.2f} x ours"
            view.add_row(
                f"  {cells['alternative']}", cost_text(cells["alternative_cost"], unit), ratio
            )
        if "limit" in cells:
            ratio = f"ours is {cells['ours_over_limit']:.2f} x"
            view.add_row(f"  limit: {cells['limit']}", cost_text(cells["limit_cost"], unit), ratio)
    return view


def save(path: Path, name: str, rows: list[Row]) -> None:
    """Keep the rows of a benchmark in a file of JSON lines, in place of its earlier ones."""
    if path.exists():
        lines = path.read_text().splitlines(keepends=True)
        others = [line for line in lines if json.loads(line).get("benchmark") != name]
        write_atomic(path, "".join(others))
    append(path, [{"benchmark": name, **cells} for cells in rows])


def append(path: Path, lines: list[Row]) -> None:
    """Add JSON lines to a file."""
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())

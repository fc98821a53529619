"""A digest of some modules and of all that they import, without what cannot change a number.

Comments, docstrings, formatting, the annotations of functions and the texts of errors do not count.
A package's ``__init__`` only maps names to modules: an import through it counts as an import of the
module that defines the name. So a new method does not change the digest of another.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

LENGTH = 16  # hex digits of a digest
SAYING = ("message", "warn")  # functions whose texts only inform the user

LEFT_OUT = {
    "scale._errors": "names of errors",
    "scale._files": "writes files without changing them",
    "scale._from_file": "finds a file by its path",
    "scale._locks": "keeps other processes out",
    "scale._machine": "counts cores and memory",
    "scale._names": "texts of errors",
    "scale._registry": "looks names up",
    "scale._schema": "checks the shape of files",
    "scale.data.card": "defaults; the record has all parameters and the protocol",
    "scale.data.download": "fetches files; the record has a digest of the images",
    "scale.methods.core.allocation": "refuses what does not fit",
    "scale.runs.code": "names the code",
    "scale.runs.display": "shows a run",
    "scale.runs.interrupt": "stops a run",
    "scale.runs.mark": "refuses an edited config",
    "scale.runs.memory_sample": "keeps images for the report",
    "scale.runs.meter": "measures time and memory",
    "scale.runs.parameters": "merges defaults; the record has all parameters",
    "scale.runs.probe": "measures what a run costs",
    "scale.runs.room": "refuses what does not fit",
    "scale.runs.run_folder": "reads and locks the folder",
    "scale.runs.same_data": "compares images with their digest",
    "scale.runs.schemas": "the shapes of files",
    "scale.runs.source": "this digest",
}
"""Modules that cannot change a number, and why."""


class Source(NamedTuple):
    """A module: its name and its file."""

    name: str
    path: Path


class _Facts(NamedTuple):
    digest: str
    imports: tuple[tuple[str, str | None], ...]
    """Modules and the names imported from them; None for a whole module."""


def digest_of(roots: Iterable[Source], package: Path) -> str:
    """Return the digest of `roots` and of all that they import.

    Parameters
    ----------
    roots
        Modules of `scale`, or files of a user.
    package
        Folder of the package `scale`.
    """
    lines = {
        f"{source.name if _is_of_scale(source) else source.path.stem} {_facts(*source).digest}\n"
        for source in reached(roots, package)
    }
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()[:LENGTH]


def reached(roots: Iterable[Source], package: Path) -> set[Source]:
    """Return `roots` and the modules that they import, directly or through others."""
    found: set[Source] = set()
    left = list(roots)
    while left:
        source = left.pop()
        if source in found or source.name in LEFT_OUT:
            continue
        found.add(source)
        left += _imported(source, package)
    return found


@lru_cache(maxsize=4096)
def _imported(source: Source, package: Path) -> tuple[Source, ...]:
    """Return the modules that a module imports directly."""
    places = _places(source, package)
    return tuple(
        home
        for module, name in _facts(*source).imports
        if module.split(".")[0] in places
        for home in _resolve(module, name, places)
    )


def _is_of_scale(source: Source) -> bool:
    return source.name.split(".")[0] == "scale"


def _places(source: Source, package: Path) -> dict[str, Path]:
    """Return the packages and files whose imports count: top-level name and path."""
    places = {"scale": package}
    if not _is_of_scale(source):
        top, *below = source.name.split(".")
        if below:  # in a package that the user installed
            up = len(below) - (source.path.name != "__init__.py")
            places[top] = source.path.parents[up]
        else:  # a single file, which may import the files beside it
            places |= {file.stem: file for file in source.path.parent.glob("*.py")}
    return places


def _resolve(module: str, name: str | None, places: dict[str, Path]) -> Iterator[Source]:
    """Yield the file that defines the name in ``from module import name``."""
    top, *rest = module.split(".")
    at = places[top].joinpath(*rest)
    file, table = (at if at.is_file() else at.with_name(f"{at.name}.py")), at / "__init__.py"
    if file.is_file():
        yield Source(module, file)
    elif name is not None and table.is_file():
        homes = _homes(table, module)
        if name in homes:
            yield from _resolve(*homes[name], places)
        elif (at / f"{name}.py").is_file() or (at / name).is_dir():
            yield from _resolve(f"{module}.{name}", None, places)
        else:  # defined in the ``__init__`` itself
            yield Source(module, table)


@lru_cache(maxsize=1024)
def _homes(table: Path, package: str) -> dict[str, tuple[str, str]]:
    """Return the module and the original name of each name that an ``__init__`` imports."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(table.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            module = _absolute(node, package, is_package=True)
            found |= {one.asname or one.name: (module, one.name) for one in node.names}
    return {name: home for name, home in found.items() if home != (package, name)}


@lru_cache(maxsize=1024)
def _facts(module: str, path: Path) -> _Facts:
    tree = _Counted().visit(ast.parse(path.read_bytes()))
    found: list[tuple[str, str | None]] = []
    whole = set()  # modules imported by `import x`, whose attributes count as imports
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            home = _absolute(node, module, is_package=path.name == "__init__.py")
            found += [(home, one.name) for one in node.names]
        elif isinstance(node, ast.Import):
            found += [(one.name, None) for one in node.names]
            whole |= {one.name.split(".")[0] for one in node.names}
    for node in nodes:
        chain = _chain(node) if isinstance(node, ast.Attribute) else []
        if chain and chain[0] in whole:
            found.append((".".join(chain[:-1]), chain[-1]))
    return _Facts(hashlib.sha256(_text(tree).encode()).hexdigest(), tuple(dict.fromkeys(found)))


def _absolute(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _chain(node: ast.expr) -> list[str]:
    """Return the names of ``a.b.c``; empty for any other expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        before = _chain(node.value)
        return [*before, node.attr] if before else []
    return []


class _Counted(ast.NodeTransformer):
    """Removes the parts of a tree that cannot change a number."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST]:
        if _chain(node.test)[-1:] == ["TYPE_CHECKING"]:
            kept = [self.visit(one) for one in node.orelse]
            return [one for one in kept if one is not None]
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return self.generic_visit(_Textless().visit(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = (_chain(node.func) or [""])[-1]
        says = name.endswith("Error") or name in SAYING
        return self.generic_visit(_Textless().visit(node) if says else node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


class _Textless(ast.NodeTransformer):
    """Replaces texts by empty ones."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")


def _text(node: object) -> str:
    """Return a tree as a text that is the same in every version of Python."""
    if isinstance(node, ast.AST):
        names = (name for name in node._fields if name not in _IGNORED)
        fields = [(name, getattr(node, name, None)) for name in names]
        told = [f"{name}={_text(value)}" for name, value in fields if value not in (None, [])]
        return f"{type(node).__name__}({','.join(told)})"
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    return repr(node)


_IGNORED = ("kind", "type_comment", "type_params", "ctx")

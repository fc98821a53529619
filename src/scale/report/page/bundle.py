"""Static files, data and scripts in one HTML file that loads nothing."""

from __future__ import annotations

import base64
import json
import posixpath
import re
from html import escape
from typing import Any

from scale.web import assets

ENTRY = "report/app.js"
STYLES = ("vendor/uPlot.min.css", "theme.css", "report/report.css")
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
)
IMPORT = re.compile(r'(\bfrom\s*|\bimport\s*)"(\.{1,2}/[^"]+)"')


def bundle(title: str, facts: dict[str, Any]) -> str:
    """Return the page. Modules are data in an import map, so that it opens from a disk."""
    names = _modules(ENTRY)
    imports = {f"scale/{name}": _as_data(_with_bare_imports(name)) for name in names}
    template = _text("report/report.html")
    parts = {
        "POLICY": POLICY,
        "TITLE": escape(title),
        "STYLE": "\n".join(map(_text, STYLES)),
        "PLOT": _text("vendor/uPlot.iife.min.js"),
        "IMPORTS": _in_script(json.dumps({"imports": imports})),
        "FACTS": _in_script(json.dumps(facts, allow_nan=False, separators=(",", ":"))),
        "ENTRY": f'import "scale/{ENTRY}";',
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: parts[found[1]], template)


def _modules(name: str, found: list[str] | None = None) -> list[str]:
    """Return a module and all that it imports."""
    found = [] if found is None else found
    if name not in found:
        found.append(name)
        for _, path in IMPORT.findall(_text(name)):
            _modules(_resolved(name, path), found)
    return found


def _with_bare_imports(name: str) -> str:
    """Return a module's source; data has no folder, so relative paths become names."""
    return IMPORT.sub(lambda one: f'{one[1]}"scale/{_resolved(name, one[2])}"', _text(name))


def _resolved(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _text(name: str) -> str:
    return assets()[name].content.decode()


def _as_data(source: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()


def _in_script(text: str) -> str:
    """Return JSON that cannot end the script it stands in."""
    return text.replace("<", "\\u003c")

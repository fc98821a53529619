"""One self-contained HTML page about a run, or about several runs compared."""

from scale.report.page.write import write_page

__all__ = ["write_page"]

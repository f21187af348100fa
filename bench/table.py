"""The tables that benchmarks print."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

console = Console(width=260)


def print_table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table. The first column is text, the others are numbers."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()

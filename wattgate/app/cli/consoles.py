"""The consoles of the commands: standard output and standard error."""

from typing import Any

from rich.console import Console, ConsoleDimensions
from rich.text import Text

from wattgate.values.terms import CONTROLS

PIPE_WIDTH = 10_000
"""Columns of output that goes to a file or a pipe, which has no width. Rich would wrap and cut at 80."""

REPLACEMENT = "\ufffd"

_VISIBLE = dict.fromkeys(CONTROLS, REPLACEMENT)
_VISIBLE_IN_LINES = {code: shown for code, shown in _VISIBLE.items() if code not in (ord("\n"), ord("\t"))}


def printable(text: str) -> str:
    """Return a stored value as text of one line.

    A name may come from a stranger. Its control characters could clear the screen, hide lines, or add a line.
    """
    return text.translate(_VISIBLE)


class CommandConsole(Console):
    """A console that neither wraps nor cuts lines unless a terminal shows them.

    It replaces control characters in all text but line breaks and tabs.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string, as Rich does for each string that is printed or in a table."""
        return super().render_str(text.translate(_VISIBLE_IN_LINES), **options)

    @property
    def size(self) -> ConsoleDimensions:
        """The columns and lines of the terminal, or of the pipe."""
        terminal = super().size
        return terminal if self.is_terminal else ConsoleDimensions(PIPE_WIDTH, terminal.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self.width, self.height = new_size


out = CommandConsole()
err = CommandConsole(stderr=True)

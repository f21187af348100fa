"""The consoles of the commands: standard output and standard error."""

from rich.console import Console, ConsoleDimensions

PIPE_WIDTH = 10_000
"""Columns of output that goes to a file or a pipe, which has no width. Rich would wrap and cut at 80."""


class CommandConsole(Console):
    """A console that neither wraps nor cuts lines unless a terminal shows them."""

    @property
    def size(self) -> ConsoleDimensions:
        """The columns and lines of the terminal, or of the pipe."""
        terminal = super().size
        return terminal if self.is_terminal else ConsoleDimensions(PIPE_WIDTH, terminal.height)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size


out = CommandConsole()
err = CommandConsole(stderr=True)

"""The group of all commands, without hidden ones."""

from collections.abc import MutableMapping
from typing import Any

from typer.core import TyperGroup


class CommandGroup(TyperGroup):
    """A group that runs its hidden commands, but never lists, completes or suggests them.

    Help, shell completion and suggestions use `commands`, so this class keeps hidden commands elsewhere.
    """

    def __init__(self, *, commands: MutableMapping[str, Any] | None = None, **attributes: Any) -> None:
        every = dict(commands or {})
        self._hidden_commands = {name: command for name, command in every.items() if command.hidden}
        visible = {name: command for name, command in every.items() if not command.hidden}
        super().__init__(commands=visible, **attributes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with this name, also a hidden one, or None."""
        return super().get_command(ctx, cmd_name) or self._hidden_commands.get(cmd_name)

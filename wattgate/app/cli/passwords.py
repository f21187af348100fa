"""Passwords of new users: entered on a terminal, or generated."""

import sys
from dataclasses import dataclass

import typer

from wattgate.app.cli.consoles import err
from wattgate.db.identity.secrets import new_readable_secret
from wattgate.operations.credentials.login import WeakPassword, check_new_password

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Characters of generated passwords: those that nobody confuses on a screen, and that every keyboard has."""


@dataclass(slots=True)
class PasswordChoice:
    """The password of a new user. `generated` is set if the command generated it, and so must print it."""

    username: str
    generated: str | None = None

    def __call__(self) -> str:
        """Ask for the password on a terminal. Without a terminal, or without an answer, generate one."""
        entered = self._ask() if sys.stdin.isatty() else ""
        if not entered:
            self.generated = generate_password()
        return entered or self.generated or ""

    def _ask(self) -> str:
        while entered := _prompt(f"Password for {self.username} (Enter generates one)"):
            try:
                check_new_password(entered, context=[self.username])
            except WeakPassword as error:
                err.print(error.message, highlight=False)
                continue
            if (
                typer.prompt("Repeat the password", default="", show_default=False, hide_input=True, err=True)
                == entered
            ):
                break
            err.print("The passwords differ.")
        return entered


def _prompt(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False, hide_input=True, err=True))


def generate_password() -> str:
    """Return a random password of 79 bits that a person can type."""
    return new_readable_secret(ALPHABET)

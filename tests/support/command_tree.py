"""Build the commands of the command line once for a process, in which tests run many.

Typer builds all of them for each one that runs: a half of the time of a command that ends with an error.
"""

from functools import cache

import typer.main

from wattgate.app.cli.main import app

typer.main.get_command = cache(typer.main.get_command)

COMMANDS = typer.main.get_command(app)

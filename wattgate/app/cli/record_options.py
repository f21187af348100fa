"""The options of commands that list records."""

from typing import Annotated

import typer

DEFAULT_LIMIT = 1_000
MAX_LIMIT = 10_000
"""Default and maximum number of records in a list."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LimitOption = Annotated[int, typer.Option(min=1, max=MAX_LIMIT, help="Maximum number of records.")]
OptionalApplication = Annotated[
    str | None, typer.Option(help="Name or ID of the application. The default is the only one.")
]

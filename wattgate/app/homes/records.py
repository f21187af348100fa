"""Add records of an application that do not exist yet, by the operations of the catalogue."""

from collections.abc import Callable
from typing import Any

from wattgate.app.homes.series import find_operation
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal

Note = Callable[[str, str, str, bool], object]
"""Takes the kind, the name and the ID of a record, and whether it is new."""


def ignore_note(kind: str, name: str, record_id: str, created: bool) -> None:
    """Take a note that nobody reads."""


async def ensure_record(runner: Runner, caller: Principal, listing: str, adding: str, new: Any, *key: str) -> Any:
    """Return the listed record whose attributes `key` are those of the input `new`. Add it if there is none.

    `listing` and `adding` are names of operations. If the caller names a user, records of other users do not count. A
    record that somebody has changed since stays as it is.
    """
    record, _ = await find_or_add(runner, caller, listing, adding, new, *key)
    return record


async def find_or_add(
    runner: Runner, caller: Principal, listing: str, adding: str, new: Any, *key: str
) -> tuple[Any, bool]:
    """Return a record as `ensure_record` does, and whether this call added it."""
    for record in await runner.run(find_operation(listing), caller, {}):
        of_caller = caller.user_id is None or getattr(record, "user_id", caller.user_id) == caller.user_id
        if of_caller and all(getattr(record, name) == getattr(new, name) for name in key):
            return record, False
    return await runner.run(find_operation(adding), caller, {"input": new}), True

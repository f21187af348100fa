"""A batch loader from records to the record that each of them refers to."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from wattgate.db.models import Tenanted
from wattgate.db.rows.rows import Rows


def reference_loader(
    model: type[Tenanted], column: str
) -> Callable[[Rows, Sequence[Any]], Awaitable[list[Tenanted | None]]]:
    """Return a loader of the record whose identifier is in a column of each parent; None if it is not visible."""

    async def load(rows: Rows, parents: Sequence[Any]) -> list[Tenanted | None]:
        records = await rows.get_many(model, {getattr(parent, column) for parent in parents})
        return [records.get(getattr(parent, column)) for parent in parents]

    return load

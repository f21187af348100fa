"""Readings of a caller that are decoded as columns, without an object for each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from wattgate.energy.arrays import FloatArray, IntArray


class DecodedReadings(Sequence[Any]):
    """A list of input objects `NewReading` that is stored as columns.

    `at` is in ms since 1970. `value` is the nearest double. `quality` is a code of `storage_fields.QUALITY_CODES`. An
    item is built when it is read.
    """

    __slots__ = ("_build_item", "at", "quality", "value")

    def __init__(self, at: IntArray, value: FloatArray, quality: IntArray, build_item: Callable[[int], Any]) -> None:
        self.at = at
        self.value = value
        self.quality = quality
        self._build_item = build_item

    def __len__(self) -> int:
        return len(self.at)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        positions = range(len(self.at))[index]
        return (
            self._build_item(positions)
            if isinstance(positions, int)
            else [self._build_item(each) for each in positions]
        )

    def __iter__(self) -> Iterator[Any]:
        return map(self._build_item, range(len(self.at)))

"""Work outside of sessions: rounds of a resolver that asks for several results."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from wattgate.errors import BadInput
from wattgate.operations.core.outside_work import MAX_ROUNDS, OutsideWork, WorkNeeded


class Rounds:
    """A resolver that runs in rounds, as the runner runs it. `done` has the inputs of the work, in its order."""

    def __init__(self) -> None:
        self.outside = OutsideWork()
        self.done: list[list[Any]] = []

    async def run(self, resolver: Callable[[], Awaitable[Any]]) -> Any:
        for _ in range(MAX_ROUNDS):
            try:
                return await resolver()
            except WorkNeeded as needed:
                self.done.append([pending.inputs[0] for pending in needed.pending])
                self.outside.begin_round()
                await self.outside.do(needed)
        raise AssertionError(f"more than {MAX_ROUNDS} rounds: {self.done}")

    async def work(self, *inputs: Any) -> Any:
        async def do() -> Any:
            return inputs[0]

        return self.outside.result(inputs, do)


async def test_parts_of_a_list_take_one_round_for_each_kind_of_work() -> None:
    """Each part has a value of its own in every round, also after other parts have got further and ask for more."""
    rounds, ids = Rounds(), iter(range(1000))
    seen: dict[str, set[Any]] = {}

    def same(name: str) -> Any:
        value = rounds.outside.same_value(lambda: (name, next(ids)))
        seen.setdefault(name, set()).add(value)
        return value

    async def send_mail(number: int, address: int) -> Any:
        await rounds.work(f"count {number}.{address}", same(f"mail {number}.{address}"))
        return address

    async def send_alert(number: int) -> Any:
        await rounds.work(f"render {number}", same(f"alert {number}"))
        mails = await rounds.outside.collect(send_mail(number, address) for address in range(number))
        await rounds.work(f"sign {number}", same(f"signature {number}"))
        return mails

    async def resolver() -> Any:
        before = same("before")
        alerts = await rounds.outside.collect(send_alert(number) for number in range(3))
        return before, alerts, await rounds.work("end", same("after"))

    assert await rounds.run(resolver) == (("before", 0), [[], [0], [0, 1]], "end")
    assert rounds.done == [
        ["render 0", "render 1", "render 2"],
        ["sign 0", "count 1.0", "count 2.0", "count 2.1"],
        ["sign 1", "sign 2"],
        ["end"],
    ]
    assert {name: len(values) for name, values in seen.items()} == dict.fromkeys(seen, 1)
    assert len(set.union(*seen.values())) == len(seen)


async def test_error_of_a_part_ends_the_others_and_keeps_the_values_of_the_rest() -> None:
    rounds, begun = Rounds(), list[int]()

    async def part(number: int) -> None:
        begun.append(number)
        rounds.outside.same_value(object)
        if number == 1:
            raise BadInput("wrong")
        await rounds.work(f"part {number}")

    def parts() -> Iterator[Awaitable[None]]:
        return (part(number) for number in range(3))

    async def resolver() -> Any:
        first = rounds.outside.same_value(object)
        with pytest.raises(BadInput, match="wrong"):
            await rounds.outside.collect(parts())
        last = rounds.outside.same_value(object)
        values.append((first, last))
        await rounds.work("end")

    values: list[tuple[object, object]] = []
    await rounds.run(resolver)
    assert (begun, rounds.done) == ([0, 1, 0, 1], [["end"]])
    assert len(set(values)) == 1
    assert values[0][0] is not values[0][1]


async def test_no_parts_need_no_round() -> None:
    rounds = Rounds()

    async def resolver() -> Any:
        return await rounds.outside.collect(rounds.work(number) for number in range(0))

    assert (await rounds.run(resolver), rounds.done) == ([], [])

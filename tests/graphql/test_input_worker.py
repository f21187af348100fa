"""The thread that validates large inputs: its bound, and the bounds of bodies that are checked before parsing."""

import asyncio
import re
import threading

import pytest

from tests.support.documents import ROOT
from wattgate.errors import TooLarge, Unavailable
from wattgate.principal import Principal, Role
from wattgate.requests.bodies import MAX_WAITING, InputWorker
from wattgate.requests.request_limits import (
    BYTES_PER_UNIT,
    FREE_BODY_BYTES,
    INLINE_BODY_BYTES,
    MAX_ANONYMOUS_BODY_BYTES,
    MAX_BODY_COMMAS,
    MAX_BODY_CONTAINERS,
    MAX_SUBSCRIPTION_BYTES,
    check_structure,
)
from wattgate.values.stored_json import INPUT_JSON_LIMITS

LARGE = INLINE_BODY_BYTES + 1
BUSY = Principal(Role.ACCOUNT, application_id="busy")


async def test_large_inputs_are_validated_in_a_thread_and_small_ones_on_the_event_loop() -> None:
    worker = InputWorker()
    assert await worker.run(BUSY, INLINE_BODY_BYTES, threading.current_thread) is threading.main_thread()
    assert await worker.run(BUSY, LARGE, threading.current_thread) is not threading.main_thread()


async def test_further_large_inputs_are_refused_while_many_wait() -> None:
    worker, released = InputWorker(), threading.Event()
    waiting = [asyncio.ensure_future(worker.run(BUSY, LARGE, released.wait)) for _ in range(MAX_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await worker.run(BUSY, LARGE, released.wait)
    assert refused.value.retry_after
    assert await worker.run(BUSY, 1, lambda: "small") == "small"
    released.set()
    assert all(await asyncio.gather(*waiting))
    assert await worker.run(BUSY, LARGE, released.wait)


@pytest.mark.parametrize("busy", [Role.ACCOUNT, Role.ANONYMOUS])
async def test_large_inputs_of_one_application_leave_turns_to_others(busy: Role) -> None:
    """A caller without credentials names any application, so all of them are one."""
    worker, released, order = InputWorker(), threading.Event(), list[str]()

    def validate(name: str) -> None:
        released.wait()
        order.append(name)

    callers = [
        Principal(busy, application_id=str(number) if busy is Role.ANONYMOUS else "busy")
        for number in range(MAX_WAITING + 1)
    ]
    waiting = [asyncio.ensure_future(worker.run(caller, LARGE, validate, "busy")) for caller in callers]
    await asyncio.sleep(0)
    other = asyncio.ensure_future(worker.run(Principal(Role.ACCOUNT, application_id="other"), LARGE, validate, "other"))
    await asyncio.sleep(0)
    released.set()
    await other
    assert order[:3].count("other") == 1
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None)] * MAX_WAITING + [Unavailable]


async def test_large_input_of_a_caller_that_is_gone_leaves_the_thread_to_others() -> None:
    worker, begun, released = InputWorker(), threading.Event(), threading.Event()

    def validate() -> None:
        begun.set()
        released.wait()

    running, waiting = (asyncio.ensure_future(worker.run(BUSY, LARGE, validate)) for _ in range(2))
    await asyncio.to_thread(begun.wait)
    for task in (running, waiting):
        task.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    later = asyncio.ensure_future(worker.run(BUSY, LARGE, lambda: "validated"))
    await asyncio.sleep(0)
    assert not later.done(), "the thread still validates the input of the first caller"
    released.set()
    assert await later == "validated"


@pytest.mark.parametrize(
    ("body", "part"), [(b"[" * (MAX_BODY_CONTAINERS + 1), "lists"), (b"," * (MAX_BODY_COMMAS + 1), "commas")]
)
def test_bodies_with_too_many_values_are_refused_without_parsing(body: bytes, part: str) -> None:
    with pytest.raises(TooLarge, match=part):
        check_structure(body)
    check_structure(body[1:])


def test_limits_page_states_the_limits_on_requests_and_values() -> None:
    page = (ROOT / "docs" / "reference" / "limits.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([\d,]+) \|", page, re.MULTILINE))
    documented = {name: int(maximum.replace(",", "")) for name, maximum in rows.items()}
    expected = {
        "body without credentials": MAX_ANONYMOUS_BODY_BYTES,
        "request for a subscription": MAX_SUBSCRIPTION_BYTES,
        "lists and objects": MAX_BODY_CONTAINERS,
        "values": MAX_BODY_COMMAS,
        "large requests that wait for validation": MAX_WAITING,
        "levels": INPUT_JSON_LIMITS.depth,
        "values: members, items, lists and objects": INPUT_JSON_LIMITS.values,
        "characters of a member name": INPUT_JSON_LIMITS.key_characters,
        "characters of a text": INPUT_JSON_LIMITS.text_characters,
        "characters of all names and texts, and 8 for each other value": INPUT_JSON_LIMITS.characters,
    }
    assert {name: documented[name] for name in expected} == expected
    assert f"one unit for each {BYTES_PER_UNIT} bytes above {FREE_BODY_BYTES // 1024} KiB" in page

"""The thread that validates large inputs: its bound, and the bounds of bodies that are checked before parsing."""

import asyncio
import re
import threading

import pytest

from tests.support.documents import ROOT
from wattgate.errors import TooLarge, Unavailable
from wattgate.requests.input_worker import MAX_WAITING, InputWorker
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


async def test_large_inputs_are_validated_in_a_thread_and_small_ones_on_the_event_loop() -> None:
    worker = InputWorker()
    assert await worker.run(INLINE_BODY_BYTES, threading.current_thread) is threading.main_thread()
    assert await worker.run(INLINE_BODY_BYTES + 1, threading.current_thread) is not threading.main_thread()


async def test_further_large_inputs_are_refused_while_many_wait() -> None:
    worker, released = InputWorker(), threading.Event()
    waiting = [asyncio.ensure_future(worker.run(INLINE_BODY_BYTES + 1, released.wait)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await worker.run(INLINE_BODY_BYTES + 1, released.wait)
    assert refused.value.retry_after
    assert await worker.run(1, lambda: "small") == "small"
    released.set()
    assert all(await asyncio.gather(*waiting))
    assert await worker.run(INLINE_BODY_BYTES + 1, released.wait)


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

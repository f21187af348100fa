"""The thread that validates large inputs: its bound, and the bounds of bodies that are checked before parsing."""

import asyncio
import threading

import pytest

from wattgate.errors import TooLarge, Unavailable
from wattgate.graphql.execution.input_worker import MAX_WAITING, InputWorker
from wattgate.request_limits import INLINE_BODY_BYTES, MAX_BODY_COMMAS, MAX_BODY_CONTAINERS, check_structure


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

"""The threads for hashes leave the event loop a core and the higher priority."""

import os
import sys
import threading

import pytest

from wattgate.db.identity.passwords import LOWER_PRIORITY, MAX_THREADS, HashPool, threads_for, usable_cores


def test_hashes_leave_a_core_to_the_event_loop() -> None:
    assert [threads_for(cores) for cores in (1, 2, 3, 4, 64)] == [1, 1, 2, 3, MAX_THREADS]
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority of threads")
async def test_hashes_have_a_lower_priority_than_the_event_loop() -> None:
    pool, before = HashPool(threads=1), os.getpriority(os.PRIO_PROCESS, 0)
    for _ in range(2):  # once for each thread, not for each hash
        priority = await pool.run(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        assert priority == min(19, before + LOWER_PRIORITY)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before

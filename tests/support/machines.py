"""State machines of hypothesis whose rules await a served gateway.

hypothesis calls rules without an event loop. So the machine runs in a thread, and its rules wait for coroutines on the
event loop of the test.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.support.chance import examples, fuzzing

T = TypeVar("T")

MAX_WAIT_SECONDS = 120
"""Maximum wait for the gateway, in seconds. It only ends a broken test."""


class GatewayMachine(RuleBasedStateMachine):
    """A state machine with rules that await. `loop` is the event loop of the gateway."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(MAX_WAIT_SECONDS)


async def run_machine(build: Callable[[asyncio.AbstractEventLoop], GatewayMachine], *, runs: int, steps: int) -> None:
    """Run a machine several times with so many steps each.

    `make fuzz` takes more runs, from its seed, and shortens a sequence that fails, which takes longer than a test may.
    """
    loop = asyncio.get_running_loop()
    phases = (Phase.generate, Phase.shrink) if fuzzing() else (Phase.generate,)
    chosen = settings(max_examples=examples(runs), stateful_step_count=steps, phases=phases)
    factory: Any = partial(build, loop)
    await asyncio.to_thread(run_state_machine_as_test, factory, settings=chosen)

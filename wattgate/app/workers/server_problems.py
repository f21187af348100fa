"""Log what is wrong with the database server and Redis although they answer: at the start, then each hour.

`wattgate doctor` finds the same problems. A gateway also logs them because a server changes while the gateway runs, and
because nobody runs `doctor` on each machine of a cluster.
"""

import logging

from wattgate.app.workers.background import run_forever
from wattgate.clock import describe_clock_offset
from wattgate.db.connections.engine import Database
from wattgate.db.connections.engine_errors import translate_errors
from wattgate.db.connections.server_state import read_server_state
from wattgate.errors import Unavailable
from wattgate.realtime.bus import Bus

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 3600.0
ERROR_PAUSE_SECONDS = 60.0


async def run_server_checks(database: Database, bus: Bus) -> None:
    """Log the problems of both servers until cancelled."""
    await run_forever(
        "check of the servers",
        lambda: log_server_problems(database, bus),
        pause=INTERVAL_SECONDS,
        pause_after_error=ERROR_PAUSE_SECONDS,
    )


async def log_server_problems(database: Database, bus: Bus) -> None:
    """Log each problem with its remedy. Raise Unavailable if the database does not answer."""
    with translate_errors():
        state = await read_server_state(database)
    problems = []
    if state is not None:
        clock = describe_clock_offset(state.clock_offset)
        problems = [state.write_problem, clock and f"has another time; the clocks {clock}"]
    for problem in filter(None, problems):
        log.warning("The database %s", problem)
    try:
        for problem in await bus.find_problems():
            log.warning("Redis %s", problem)
    except Unavailable as error:
        log.warning("Redis cannot be checked: %s", error.message)

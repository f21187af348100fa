"""Check Redis: connection, version, role, eviction policy, memory and clock."""

from redis.exceptions import RedisError

from wattgate.app.cli.checks.result import CheckResult, check_clock, failed, passed
from wattgate.app.server.redis_state import create_redis_bus
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.realtime.bus.redis import find_state_problems

SUBJECT = "Redis"


async def check_redis(settings: Settings) -> list[CheckResult]:
    """Run all checks of the Redis server that the settings name."""
    bus = create_redis_bus(settings)
    try:
        async with bus:
            await bus.check()
            info, offset = await bus.client.read_server_info()
    except Unavailable as error:
        return [_unusable(error.message)]
    except (RedisError, OSError) as error:
        return [_unusable(str(error))]
    problems = [failed(SUBJECT, problem) for problem in find_state_problems(info, bus.client.primary.servers.mode)]
    return [*(problems or [passed(SUBJECT, "answers")]), check_clock("Redis", offset)]


def _unusable(reason: str) -> CheckResult:
    return failed(SUBJECT, f"cannot be used: {reason.rstrip('.')}. Check WATTGATE_REDIS_URL, and that Redis runs")

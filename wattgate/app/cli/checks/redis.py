"""Check Redis: connection, version, role, eviction policy, memory and clock."""

from redis.exceptions import RedisError

from wattgate.app.cli.checks.clocks import check_clock
from wattgate.app.cli.checks.result import CheckResult, failed, passed
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.bus.redis_state import find_state_problems
from wattgate.realtime.server_address import ServerAddress

SUBJECT = "Redis"


async def check_redis(settings: Settings) -> list[CheckResult]:
    """Run all checks of the Redis server that the settings name."""
    assert settings.redis_url is not None
    bus = RedisBus(ServerAddress.from_redis_url(settings.redis_url))
    try:
        async with bus:
            await bus.check()
            info, offset = await bus.client.read_server_info()
    except Unavailable as error:
        return [failed(SUBJECT, f"cannot be used: {error.message}")]
    except (RedisError, OSError) as error:
        return [failed(SUBJECT, f"cannot be used: {error}")]
    problems = [failed(SUBJECT, problem) for problem in find_state_problems(info)]
    return [*(problems or [passed(SUBJECT, "answers")]), check_clock("Redis", offset)]

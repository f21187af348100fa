"""Judge the state of a Redis server: whether it keeps the data of the gateways."""

from collections.abc import Mapping

from wattgate.realtime.redis_url import RedisMode

NO_EVICTION = "noeviction"


def find_state_problems(info: Mapping[str, str], mode: RedisMode = RedisMode.SINGLE) -> list[str]:
    """Return what in the fields of INFO keeps the gateways from working, with what to do."""
    problems = []
    if info.get("role") == "slave":
        problems.append("is a replica, which accepts no changes: set WATTGATE_REDIS_URL to the primary")
    if info.get("cluster_enabled") == "1" and mode is RedisMode.SINGLE:
        problems.append("is a node of a cluster: write WATTGATE_REDIS_URL with redis+cluster://")
    policy = info.get("maxmemory_policy", NO_EVICTION)
    if policy != NO_EVICTION:
        problems.append(
            f"has the eviction policy {policy}, which can delete live events, budgets and connection counts: set "
            f"maxmemory-policy to {NO_EVICTION}"
        )
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if limit and used >= limit:
        problems.append(f"uses {used} of {limit} bytes of memory and rejects changes: increase maxmemory")
    return problems

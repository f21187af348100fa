"""The names of topics. A topic is built here and nowhere else."""


def readings(resource_id: str) -> str:
    """Every reading recorded for a resource. Watched with Permission.READINGS_READ on that resource."""
    return f"readings:{resource_id}"


def dfs_events(application_id: str) -> str:
    """Every demand flexibility event of an application that changes. Watched with Permission.FLEXIBILITY_READ."""
    return f"dfs-events:{application_id}"


def codes(user_id: str) -> str:
    """Every one-time code made for a user, for what sends it to them. No caller may watch it."""
    return f"codes:{user_id}"


def catch_ups(resource_id: str) -> str:
    """Every change of state of a retrieval for a resource. Watched with Permission.CATCH_UP on that resource."""
    return f"catch-ups:{resource_id}"

"""The names of topics. A topic is built here and nowhere else."""


def readings(resource_id: str) -> str:
    """Every reading recorded for a resource. Watched with Permission.READINGS_READ on that resource."""
    return f"readings:{resource_id}"

"""The names of topics. A topic is built here and nowhere else."""


def readings(resource_id: str) -> str:
    """Every reading recorded for a resource. Watched with Permission.READINGS_READ on that resource."""
    return f"readings:{resource_id}"


def dfs_events(application_id: str) -> str:
    """Every demand flexibility event of an application that changes. Watched with Permission.FLEXIBILITY_READ."""
    return f"dfs-events:{application_id}"


def one_time_codes(user_id: str) -> str:
    """Every one-time code made for a user, for what sends it to them. No caller may watch it."""
    return f"codes:{user_id}"


def catch_ups(resource_id: str) -> str:
    """Every change of state of a retrieval for a resource. Watched with Permission.CATCH_UP on that resource."""
    return f"catch-ups:{resource_id}"


def alerts(user_id: str) -> str:
    """Every alert sent to a user. Watched with Permission.NOTIFICATION_READ for that user."""
    return f"alerts:{user_id}"


def alerts_read(user_id: str) -> str:
    """How many alerts a user has not read, when some were. Watched with Permission.NOTIFICATION_READ for that user."""
    return f"alerts-read:{user_id}"


def tariffs(resource_id: str) -> str:
    """Every change of what a resource's energy costs. Watched with Permission.RESOURCE_READ on that resource."""
    return f"tariffs:{resource_id}"


def virtual_entities(ve_id: str) -> str:
    """Every change of a virtual entity's own record. Watched with Permission.VIRTUAL_ENTITY_READ on it."""
    return f"homes:{ve_id}"


def intakes(application_id: str) -> str:
    """Every sign of life of what takes in devices' messages. Watched with whatever is judged by it; it is not told."""
    return f"intakes:{application_id}"


def deliveries() -> str:
    """Everything that is put into the outbox to leave at once, for the workers. No caller may watch it."""
    return "deliveries"


def queued_catch_ups() -> str:
    """Every catch-up that waits for a worker, for the workers. No caller may watch it."""
    return "queued-catch-ups"


def rule_readings() -> str:
    """Every field of a resource with rules that was recorded, for what evaluates them. No caller may watch it."""
    return "watched-readings"


def alert_steps(user_id: str) -> str:
    """Every alert to a user of which a notification has moved. Watched as `alerts` is."""
    return f"alert-steps:{user_id}"


def device_states(device_id: str) -> str:
    """Everything that a device says of itself. Watched with Permission.DEVICE_READ on that device."""
    return f"device-states:{device_id}"


def revocations() -> str:
    """Every revocation of credentials, for the gateways that serve their holders. No caller may watch it."""
    return "revocations"


def displacements() -> str:
    """Every connection whose place a newer one has taken, for the gateway that holds it. No caller may watch it."""
    return "displacements"


def event_stream(digest: str) -> str:
    """What is asked of an event stream at other gateways than its own. No caller may watch it."""
    return f"event-stream:{digest}"

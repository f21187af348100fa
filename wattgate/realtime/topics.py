"""Names of topics. Only this module builds them.

Each docstring names the permission that a subscription to the topic needs.
"""


def readings(resource_id: str) -> str:
    """Each reading recorded for a resource, and each change of its record or of the devices that feed it.

    Needs Permission.READINGS_READ on that resource.
    """
    return f"readings:{resource_id}"


def dfs_events(application_id: str) -> str:
    """Each change of a demand flexibility event of an application. Needs Permission.FLEXIBILITY_READ."""
    return f"dfs-events:{application_id}"


def catch_ups(resource_id: str) -> str:
    """Each change of state of a catch-up for a resource. Needs Permission.CATCH_UP on that resource."""
    return f"catch-ups:{resource_id}"


def alerts(user_id: str) -> str:
    """Each alert sent to a user. Needs Permission.NOTIFICATION_READ for that user."""
    return f"alerts:{user_id}"


def alerts_read(user_id: str) -> str:
    """The number of unread alerts, each time a user reads some. Needs Permission.NOTIFICATION_READ for that user."""
    return f"alerts-read:{user_id}"


def tariffs(resource_id: str) -> str:
    """Each change of the tariffs of a resource. Needs Permission.RESOURCE_READ on that resource."""
    return f"tariffs:{resource_id}"


def virtual_entities(ve_id: str) -> str:
    """Each change of the record of a virtual entity. Needs Permission.VIRTUAL_ENTITY_READ on it."""
    return f"homes:{ve_id}"


def intakes(application_id: str) -> str:
    """Heartbeats of the intakes of device messages. Subscriptions to freshness use them and do not send them."""
    return f"intakes:{application_id}"


def deliveries() -> str:
    """Each delivery that is put into the outbox and due now, for the workers. No caller may subscribe."""
    return "deliveries"


def queued_catch_ups() -> str:
    """Each catch-up that waits for a worker, for the workers. No caller may subscribe."""
    return "queued-catch-ups"


def user_jobs() -> str:
    """Each erasure or export that waits for a worker, for the workers. No caller may subscribe."""
    return "user-jobs"


def rule_readings() -> str:
    """Each recording for a resource with alert rules, for the worker that evaluates them. No caller may subscribe."""
    return "watched-readings"


def alert_steps(user_id: str) -> str:
    """Each alert to a user when the state of one of its notifications changes. Needs the permission of `alerts`."""
    return f"alert-steps:{user_id}"


def device_states(device_id: str) -> str:
    """Each network state that a device reports, and each change of its record. Needs Permission.DEVICE_READ on it."""
    return f"device-states:{device_id}"


def revocations() -> str:
    """Each revocation of credentials, for the gateways that serve their holders. No caller may subscribe."""
    return "revocations"


def displacements() -> str:
    """Each connection that a newer one displaces, for the gateway that serves it. No caller may subscribe."""
    return "displacements"


def event_stream(digest: str) -> str:
    """Operations for an event stream that arrive at a gateway that does not serve it. No caller may subscribe."""
    return f"event-stream:{digest}"

"""State that the gateways of a cluster share: in Redis, or in memory for a single gateway."""

from dataclasses import dataclass
from importlib import import_module

from wattgate.app.settings import Settings
from wattgate.clock import Clock
from wattgate.rate_limit.budgets import BucketStore, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.realtime.apq_store import ApqStore, LocalApqStore
from wattgate.realtime.bus import Bus
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.connections.connection_slots import ConnectionSlots, LocalConnectionSlots
from wattgate.realtime.connections.event_streams.stream_reservations import LocalStreamReservations, StreamReservations
from wattgate.requests.client import AddressPolicy

MINUTE_SECONDS, HOUR_SECONDS = 60, 3_600


FILES_OF_A_LOAD = 256
"""Files of pages that an address may get at once, whatever its limit of requests is.

A page is blank without one of its files. The display page loads its files, and its worker then keeps all of them.
"""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """State that gateways share.

    It has connection slots, rate limit buckets, texts of persisted queries (APQ), and reserved event streams.
    """

    connection_slots: ConnectionSlots
    rate_buckets: BucketStore
    apq_store: ApqStore
    stream_reservations: StreamReservations


def create_cluster_state(settings: Settings, clock: Clock) -> tuple[Bus, ClusterState]:
    """Create the event bus and the shared state: in Redis if it is configured, else in memory."""
    if settings.redis_url is not None:
        redis_state = import_module("wattgate.app.server.redis_state")  # only clusters need the client of Redis
        in_redis: tuple[Bus, ClusterState] = redis_state.create_redis_state(settings, clock)
        return in_redis
    reservations = LocalStreamReservations(clock)
    return MemoryBus(), ClusterState(LocalConnectionSlots(), LocalBucketStore(clock), LocalApqStore(), reservations)


def create_budget_limits(settings: Settings) -> BudgetLimits:
    """Return the budget limits of the settings. A budget of 0 means no limit."""
    caller, application = (
        Allowance(capacity, capacity / seconds) if capacity else None
        for capacity, seconds in (
            (settings.caller_budget, settings.caller_budget_seconds),
            (settings.application_budget, settings.budget_seconds),
        )
    )
    return BudgetLimits(caller, application)


def create_address_allowances(settings: Settings) -> dict[AddressPolicy, Allowance]:
    """Return the allowances of each client address. A setting of 0 means no limit."""
    files = settings.address_requests and max(settings.address_requests, FILES_OF_A_LOAD)
    limits = (
        (AddressPolicy.LOGIN, settings.address_logins, MINUTE_SECONDS),
        (AddressPolicy.REGISTRATION, settings.address_registrations, HOUR_SECONDS),
        (AddressPolicy.CODE, settings.address_codes, HOUR_SECONDS),
        (AddressPolicy.PAIRING, settings.address_pairings, HOUR_SECONDS),
        (AddressPolicy.DOCUMENT, settings.address_documents, MINUTE_SECONDS),
        (AddressPolicy.SHARED_PREVIEW, settings.address_shared_previews, MINUTE_SECONDS),
        (AddressPolicy.REQUEST, settings.address_requests, MINUTE_SECONDS),
        (AddressPolicy.FILE, files, MINUTE_SECONDS),
    )
    return {policy: Allowance(count, count / seconds) for policy, count, seconds in limits if count}

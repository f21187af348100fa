"""State that the gateways of a cluster share: in Redis, or in memory for a single gateway."""

from dataclasses import dataclass

from wattgate.app.settings import Settings
from wattgate.client import AddressPolicy
from wattgate.clock import Clock
from wattgate.realtime.apq_store import ApqStore, LocalApqStore, RedisApqStore
from wattgate.realtime.bus import Bus
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.connections.connection_slots import ConnectionSlots, LocalConnectionSlots
from wattgate.realtime.connections.redis_connection_slots import RedisConnectionSlots
from wattgate.realtime.rate_limit.budgets import BucketStore, LocalBucketStore
from wattgate.realtime.rate_limit.redis_budgets import RedisBucketStore
from wattgate.realtime.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.realtime.server_address import ServerAddress

MINUTE_SECONDS, HOUR_SECONDS = 60, 3_600


@dataclass(frozen=True, slots=True)
class ClusterState:
    """State that gateways share: connection slots, rate limit buckets, and texts of persisted queries (APQ)."""

    connection_slots: ConnectionSlots
    rate_buckets: BucketStore
    apq_store: ApqStore


def create_cluster_state(settings: Settings, clock: Clock) -> tuple[Bus, ClusterState]:
    """Create the event bus and the shared state: in Redis if it is configured, else in memory."""
    local_buckets, local_apq_store = LocalBucketStore(), LocalApqStore()
    if settings.redis_url is None:
        return MemoryBus(), ClusterState(LocalConnectionSlots(), local_buckets, local_apq_store)
    bus = RedisBus(ServerAddress.from_redis_url(settings.redis_url))
    redis = BestEffortRedis(bus.client)
    return bus, ClusterState(
        RedisConnectionSlots(redis, clock),
        RedisBucketStore(redis, local_buckets),
        RedisApqStore(redis, local_apq_store),
    )


def create_budget_limits(settings: Settings) -> BudgetLimits:
    """Return the budget limits of the settings. A budget of 0 means no limit."""
    caller, application = (
        Allowance(capacity, capacity / settings.budget_seconds) if capacity else None
        for capacity in (settings.caller_budget, settings.application_budget)
    )
    return BudgetLimits(caller, application)


def create_address_allowances(settings: Settings) -> dict[AddressPolicy, Allowance]:
    """Return the allowances of each client address. A setting of 0 means no limit."""
    limits = (
        (AddressPolicy.LOGIN, settings.address_logins, MINUTE_SECONDS),
        (AddressPolicy.REGISTRATION, settings.address_registrations, HOUR_SECONDS),
        (AddressPolicy.CODE, settings.address_codes, HOUR_SECONDS),
        (AddressPolicy.DOCUMENT, settings.address_documents, MINUTE_SECONDS),
    )
    return {policy: Allowance(count, count / seconds) for policy, count, seconds in limits if count}

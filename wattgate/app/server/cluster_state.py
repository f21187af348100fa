"""What several gateways have in common: in Redis, or in the process of the only one."""

from dataclasses import dataclass

from wattgate.app.settings import Settings
from wattgate.clock import Clock
from wattgate.realtime.apq_store import LocalTexts, RedisTexts, Texts
from wattgate.realtime.bus import Bus
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.bus.optional_commands import Presence
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.connections.connection_limits import LocalSeats, Seats
from wattgate.realtime.connections.redis_connection_limits import RedisSeats
from wattgate.realtime.rate_limit.budgets import Buckets, LocalBuckets
from wattgate.realtime.rate_limit.redis_budgets import RedisBuckets
from wattgate.realtime.rate_limit.scopes import Allowance, Terms
from wattgate.realtime.server_address import Address


@dataclass(frozen=True, slots=True)
class Shared:
    """What the gateways keep together: their connections, what callers have spent, texts that clients name."""

    seats: Seats
    buckets: Buckets
    texts: Texts


def shared_by(settings: Settings, clock: Clock) -> tuple[Bus, Shared]:
    """What joins the gateways, and what they keep together."""
    buckets, texts = LocalBuckets(), LocalTexts()
    if settings.redis_url is None:
        return MemoryBus(), Shared(LocalSeats(), buckets, texts)
    bus = RedisBus(Address.at(settings.redis_url))
    redis = Presence(bus.commands)
    return bus, Shared(RedisSeats(bus.commands, clock), RedisBuckets(redis, buckets), RedisTexts(redis, texts))


def terms(settings: Settings) -> Terms:
    """The budgets of the settings, where 0 sets no limit."""
    caller, application = (
        Allowance(capacity, capacity / settings.budget_seconds) if capacity else None
        for capacity in (settings.caller_budget, settings.application_budget)
    )
    return Terms(caller, application)

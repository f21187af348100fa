"""The event bus and the shared state of a cluster in Redis. Gateways without Redis never import its client."""

from wattgate.app.server.cluster_state import ClusterState
from wattgate.app.settings import Settings
from wattgate.clock import Clock
from wattgate.rate_limit.budgets import LocalBucketStore
from wattgate.rate_limit.redis_budgets import RedisBucketStore
from wattgate.realtime.apq_store import LocalApqStore
from wattgate.realtime.bus import Bus
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.connections.event_streams.redis_stream_reservations import RedisStreamReservations
from wattgate.realtime.connections.event_streams.stream_reservations import LocalStreamReservations
from wattgate.realtime.connections.redis_connection_slots import RedisConnectionSlots
from wattgate.realtime.redis_apq_store import RedisApqStore


def create_redis_bus(settings: Settings) -> RedisBus:
    """Create the event bus for the settings, which must have the URL of Redis."""
    assert settings.redis_url is not None
    return RedisBus(create_finder(settings.redis_url, settings.redis_tls_files))


def create_redis_state(settings: Settings, clock: Clock) -> tuple[Bus, ClusterState]:
    """Create the event bus and the state that the gateways with the same Redis share."""
    bus = create_redis_bus(settings)
    redis = BestEffortRedis(bus.client)
    return bus, ClusterState(
        RedisConnectionSlots(redis, clock),
        RedisBucketStore(redis, LocalBucketStore(clock)),
        RedisApqStore(redis, LocalApqStore()),
        RedisStreamReservations(redis, LocalStreamReservations(clock), clock),
    )

"""The event bus and the shared state of a cluster in Redis. Gateways without Redis never import its client."""

from wattgate.app.server.cluster_state import ClusterState
from wattgate.clock import Clock
from wattgate.realtime.apq_store import LocalApqStore
from wattgate.realtime.bus import Bus
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.connections.redis_connection_slots import RedisConnectionSlots
from wattgate.realtime.connections.redis_stream_reservations import RedisStreamReservations
from wattgate.realtime.connections.stream_reservations import LocalStreamReservations
from wattgate.realtime.rate_limit.budgets import LocalBucketStore
from wattgate.realtime.rate_limit.redis_budgets import RedisBucketStore
from wattgate.realtime.redis_apq_store import RedisApqStore
from wattgate.realtime.server_address import ServerAddress


def create_redis_state(redis_url: str, clock: Clock) -> tuple[Bus, ClusterState]:
    """Create the event bus and the state that the gateways with this URL share."""
    bus = RedisBus(ServerAddress.from_redis_url(redis_url))
    redis = BestEffortRedis(bus.client)
    return bus, ClusterState(
        RedisConnectionSlots(redis, clock),
        RedisBucketStore(redis, LocalBucketStore()),
        RedisApqStore(redis, LocalApqStore()),
        RedisStreamReservations(redis, LocalStreamReservations(clock), clock),
    )

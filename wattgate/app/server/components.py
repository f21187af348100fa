"""The components that operations need: what a command or a worker has, which serves no requests."""

from dataclasses import dataclass

from wattgate.access_log import AccessLog
from wattgate.app.server.cluster_state import (
    ClusterState,
    create_address_allowances,
    create_budget_limits,
    create_cluster_state,
)
from wattgate.app.server.database import create_database
from wattgate.app.server.gate.identity import create_credential_states
from wattgate.app.settings import Settings
from wattgate.app.workers.outbound import create_outbound_policy
from wattgate.clock import Clock, utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.meter_network import MeterNetworkFactory, RegistryMeterNetwork
from wattgate.db.rows.quotas import QuotaChecker
from wattgate.operations.core.runner import Runner
from wattgate.rate_limit.address_limits import AddressLimits
from wattgate.rate_limit.budgets import Budgets
from wattgate.realtime.bus import Bus
from wattgate.tracer import NOOP_TRACER, Tracer


@dataclass(frozen=True, slots=True)
class Components:
    """The database, the event bus, the runner of operations, and the limits that they share."""

    database: Database
    bus: Bus
    runner: Runner
    cluster_state: ClusterState
    budgets: Budgets
    address_limits: AddressLimits
    access_log: AccessLog


def build_components(
    settings: Settings,
    *,
    network: MeterNetworkFactory = RegistryMeterNetwork,
    clock: Clock = utc_now,
    tracer: Tracer = NOOP_TRACER,
) -> Components:
    """Create the components for the settings, without opening a connection."""
    database = create_database(settings, tracer)
    bus, state = create_cluster_state(settings, clock)
    budgets = Budgets(create_budget_limits(settings), state.rate_buckets)
    address_limits = AddressLimits(create_address_allowances(settings), state.rate_buckets)
    access_log = AccessLog()
    runner = Runner(
        database,
        bus,
        network=network,
        clock=clock,
        tracer=tracer,
        outbound_policy=create_outbound_policy(settings),
        quotas=QuotaChecker(settings.application_records),
        address_limits=address_limits,
        consent_policy=settings.consent_policy,
        account_policy=settings.account_policy,
        access_log=access_log,
        budgets=budgets,
        credential_states=create_credential_states(settings),
    )
    return Components(database, bus, runner, state, budgets, address_limits, access_log)

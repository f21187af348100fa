"""The look-up of credentials, and the changes that end remembered callers."""

from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.identity.credential_states import CredentialStates
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.principal import Principal
from wattgate.rate_limit.budgets import Budgets
from wattgate.realtime.connections.connection_registry import ConnectionRegistry
from wattgate.requests.client import AddressLimiter
from wattgate.requests.request_context import known_request_cost


def create_credential_states(settings: Settings) -> CredentialStates:
    return CredentialStates(administrators_need_second_factor=settings.administrators_need_second_factor)


def create_identity(
    settings: Settings, database: Database, address_limits: AddressLimiter, budgets: Budgets
) -> CredentialLookup:
    """Return the look-up of credentials. The hash of a right password is charged to the budgets of its account."""

    async def charge_hash(principal: Principal) -> None:
        cost = min(PASSWORD_HASH_WEIGHT, budgets.max_cost(principal) or PASSWORD_HASH_WEIGHT)
        balance = await budgets.charge(principal, cost)
        if balance is not None and not balance.granted:
            raise await budgets.refusal(principal, cost + known_request_cost())

    return CredentialLookup(
        database,
        address_limits,
        states=create_credential_states(settings),
        charge_hash=charge_hash,
        hash_units=PASSWORD_HASH_WEIGHT,
    )


def forget_changed_callers(identity: CredentialLookup, database: Database, connections: ConnectionRegistry) -> None:
    """Let callers be remembered while changes of credentials arrive, and be forgotten by them."""
    identity.remembered.hears_changes = lambda: connections.hears_revocations
    database.on_credentials_changed = identity.forget
    connections.on_credentials_changed = identity.forget

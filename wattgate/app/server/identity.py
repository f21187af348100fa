"""The look-up of credentials, and the changes that end remembered callers."""

from wattgate.app.settings import Settings
from wattgate.client import AddressLimiter
from wattgate.db.engine import Database
from wattgate.db.identity.credential_states import CredentialStates
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.realtime.connections.connection_registry import ConnectionRegistry


def create_credential_states(settings: Settings) -> CredentialStates:
    return CredentialStates(administrators_need_second_factor=settings.administrators_need_second_factor)


def create_identity(settings: Settings, database: Database, address_limits: AddressLimiter) -> CredentialLookup:
    return CredentialLookup(database, address_limits, states=create_credential_states(settings))


def forget_changed_callers(identity: CredentialLookup, database: Database, connections: ConnectionRegistry) -> None:
    """Let callers be remembered while changes of credentials arrive, and be forgotten by them."""
    identity.remembered.hears_changes = lambda: connections.hears_revocations
    database.on_credentials_changed = identity.forget
    connections.on_credentials_changed = identity.forget

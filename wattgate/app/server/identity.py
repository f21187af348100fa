"""The look-up of credentials, and the changes that end remembered tokens."""

from wattgate.app.settings import Settings
from wattgate.client import AddressLimiter
from wattgate.db.engine import Database
from wattgate.db.identity.credential_states import CredentialStates
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.identity.remembered_tokens import RememberedTokens
from wattgate.realtime.connections.connection_registry import ConnectionRegistry


def create_credential_states(settings: Settings) -> CredentialStates:
    return CredentialStates(administrators_need_second_factor=settings.administrators_need_second_factor)


def create_identity(settings: Settings, database: Database, address_limits: AddressLimiter) -> CredentialLookup:
    return CredentialLookup(database, address_limits, states=create_credential_states(settings))


def forget_changed_tokens(remembered: RememberedTokens, database: Database, connections: ConnectionRegistry) -> None:
    """Let tokens be remembered while changes of credentials arrive, and be forgotten by them."""
    remembered.hears_changes = lambda: connections.hears_revocations
    database.on_credentials_changed = remembered.forget
    connections.on_credentials_changed = remembered.forget

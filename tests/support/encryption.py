"""Keys of the tests that encrypt stored secrets."""

import base64

from sqlmodel import col, select

from tests.support.scopes import EVERYTHING
from wattgate.db.connections.engine import Database
from wattgate.db.encryption.key_ring import KEY_BYTES, KeyRing, SecretLocation, parse_keys
from wattgate.db.models import MobileAppToken
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION


def key(key_id: str, fill: str = "x") -> str:
    """Return a key in the form of the settings. Different `fill` characters give different keys."""
    return f"{key_id}:{base64.urlsafe_b64encode(fill.encode() * KEY_BYTES).decode()}"


def ring(*keys: str) -> KeyRing:
    """Return a key ring of keys in the form of the settings."""
    return KeyRing(parse_keys(",".join(keys)))


TEST_KEYS = key("tests")


async def stored_push_tokens(database: Database, account_id: str) -> list[str]:
    """Return the decrypted push tokens of an account, in alphabetical order."""
    statement = select(MobileAppToken).where(col(MobileAppToken.account_id) == account_id)
    async with database.session(EVERYTHING) as session:
        tokens = (await session.execute(statement, execution_options=SCOPED_OPTION)).scalars()
        return sorted(
            database.key_ring.decrypt(
                token.token, SecretLocation("mobile_app_token", "token", token.mobile_app_token_id)
            )
            for token in tokens
        )

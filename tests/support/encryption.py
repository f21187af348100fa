"""Keys of the tests that encrypt stored secrets."""

import base64

from wattgate.db.encryption.key_ring import KEY_BYTES, KeyRing, parse_keys


def key(key_id: str, fill: str = "x") -> str:
    """Return a key in the form of the settings. Different `fill` characters give different keys."""
    return f"{key_id}:{base64.urlsafe_b64encode(fill.encode() * KEY_BYTES).decode()}"


def ring(*keys: str) -> KeyRing:
    """Return a key ring of keys in the form of the settings."""
    return KeyRing(parse_keys(",".join(keys)))


TEST_KEYS = key("tests")

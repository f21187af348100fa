"""The public keys of a provider that verify its tokens (RFC 7517, RFC 7518)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

MAX_KEYS = 50
"""Maximum keys of a provider. Further ones are ignored."""

MAX_CANDIDATES = 10
"""Maximum keys that are tried for one token."""

RSA_BITS = range(2_048, 8_193)
"""Sizes of RSA keys that are used. Smaller keys are weak, and verification with larger ones takes long."""

KEY_TYPES: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {
        **{f"{family}{bits}": ("RSA", None) for family in ("RS", "PS") for bits in (256, 384, 512)},
        "ES256": ("EC", "P-256"),
        "ES384": ("EC", "P-384"),
        "ES512": ("EC", "P-521"),
        "EdDSA": ("OKP", "Ed25519"),
    }
)
"""The key type and the curve of each algorithm. Algorithms with a shared secret (HS*) and `none` are never accepted."""

PUBLIC_MEMBERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
)
"""The members of a public key of each type (RFC 7518, 6; RFC 8037, 2). Others never reach the library: it would take
minutes to compute the primes of a private RSA key without them."""

MAX_MEMBER_LENGTH = 4 * RSA_BITS.stop // (8 * 3) + 4
"""Maximum characters of a member: the modulus of the largest RSA key in base64url."""

MAX_EXPONENT_LENGTH = 8
"""Maximum characters of the exponent of an RSA key. Verification with larger ones takes long."""

VERIFY = "verify"
"""The operation that a key is used for."""

ALGORITHMS = tuple(KEY_TYPES)
"""The algorithms that a directory may allow."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key for one algorithm. `key_id` is empty if the provider has given it none."""

    key_id: str
    algorithm: str
    key: jwt.PyJWK


def parse_keys(documents: Iterable[Any]) -> tuple[SigningKey, ...]:
    """Return the usable keys of a key set. Keys of other kinds, and malformed ones, are ignored (RFC 7517, 5)."""
    return tuple(key for document in list(documents)[:MAX_KEYS] for key in _parse_key(document))


def find_keys(keys: Sequence[SigningKey], key_id: str | None, algorithm: str) -> list[SigningKey]:
    """Return at most MAX_CANDIDATES keys that may have signed a token with this header.

    A key or a token without a key ID matches all others.
    """
    matching = (key for key in keys if key.algorithm == algorithm and (not key_id or key.key_id in ("", key_id)))
    return list(islice(matching, MAX_CANDIDATES))


def _parse_key(document: Any) -> list[SigningKey]:
    if not isinstance(document, dict) or not _verifies(document):
        return []
    key_type, curve, only = (document.get(name) for name in ("kty", "crv", "alg"))
    key_id = document.get("kid", "")
    if not isinstance(key_id, str):
        return []
    parsed = []
    for algorithm, (wanted_type, wanted_curve) in KEY_TYPES.items():
        if key_type == wanted_type and only in (None, algorithm) and wanted_curve in (None, curve):
            try:
                key = jwt.PyJWK(_public_members(document, key_type), algorithm)
            except (jwt.PyJWTError, ValueError, TypeError):
                return []
            if isinstance(key.key, RSAPublicKey) and key.key.key_size not in RSA_BITS:
                return []
            parsed.append(SigningKey(key_id, algorithm, key))
    return parsed


def _verifies(document: Mapping[str, Any]) -> bool:
    """Return whether a key is for signatures, and to verify them (RFC 7517, 4.2 and 4.3)."""
    operations = document.get("key_ops", [VERIFY])
    return document.get("use", "sig") == "sig" and isinstance(operations, list) and VERIFY in operations


def _public_members(document: Mapping[str, Any], key_type: str) -> dict[str, str]:
    """Return the public members of a key. Raise ValueError if one is missing, no text, or too long."""
    members = {"kty": key_type}
    for name in PUBLIC_MEMBERS[key_type]:
        value = document.get(name)
        maximum = MAX_EXPONENT_LENGTH if name == "e" else MAX_MEMBER_LENGTH
        if not isinstance(value, str) or not 0 < len(value) <= maximum:
            raise ValueError(f"the member {name} of the key is missing, or has more than {maximum} characters")
        members[name] = value
    return members

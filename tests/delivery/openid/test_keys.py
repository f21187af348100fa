"""Keys of a provider: only their public members reach the library, and they are bounded."""

import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from tests.support.openid import rsa_key
from wattgate.delivery.openid import keys

ALGORITHMS = ["RS256", "ES256", "ES512", "EdDSA"]


def public(algorithm: str, key: Any) -> dict[str, Any]:
    return dict(json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(key)))


@cache
def public_keys() -> dict[str, dict[str, Any]]:
    """Return a public key of each type as a JSON Web Key, by algorithm."""
    return {
        "RS256": public("RS256", rsa_key(0).public_key()),
        "ES256": public("ES256", ec.generate_private_key(ec.SECP256R1()).public_key()),
        "ES512": public("ES512", ec.generate_private_key(ec.SECP521R1()).public_key()),
        "EdDSA": public("EdDSA", ed25519.Ed25519PrivateKey.generate().public_key()),
    }


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_public_keys_of_each_type_are_read(algorithm: str) -> None:
    document = {**public_keys()[algorithm], "kid": "one", "use": "sig"}
    assert algorithm in [key.algorithm for key in keys.parse_keys([document])]


@pytest.mark.parametrize("operations", [["encrypt"], ["sign"], [], "verify", None, 5, [["verify"]]])
def test_keys_for_another_operation_are_ignored(operations: Any) -> None:
    """RFC 7517, 4.2 and 4.3."""
    for use in ({}, {"use": "sig"}):
        assert keys.parse_keys([{**public_keys()["RS256"], "key_ops": operations, **use}]) == ()
    assert keys.parse_keys([{**public_keys()["RS256"], "key_ops": ["encrypt", "verify"]}])
    assert keys.parse_keys([{**public_keys()["RS256"], "key_ops": ["verify"], "use": "enc"}]) == ()


PRIVATE = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}
"""The members of private and of symmetric keys (RFC 7518, 6)."""


def private_keys() -> dict[str, dict[str, Any]]:
    """Return private keys as JSON Web Keys: an RSA key without and with its primes, and a key of each other type."""
    whole = public("RS256", rsa_key(0))
    del whole["key_ops"]  # it would be a key to sign with
    return {
        "RSA without primes": {name: value for name, value in whole.items() if name in ("kty", "n", "e", "d")},
        "RSA with an odd prime": {name: value for name, value in whole.items() if name != "q"},
        "RSA with other primes": {**whole, "oth": [{"r": "AQ", "d": "AQ", "t": "AQ"}]},
        "RSA with a long exponent": {**whole, "d": "AQ" * 200_000},
        "EC": {**public_keys()["ES256"], "d": "AQ" * 16, "k": "AQ"},
        "OKP": {**public_keys()["EdDSA"], "d": "AQ" * 16},
    }


@pytest.mark.parametrize("name", private_keys())
def test_private_members_never_reach_the_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The library computes the primes of a private RSA key without them, which takes minutes for a large one."""
    seen: list[set[str]] = []
    parse = jwt.PyJWK

    def parse_seen(document: dict[str, Any], algorithm: str) -> Any:
        seen.append(set(document))
        return parse(document, algorithm)

    monkeypatch.setattr(jwt, "PyJWK", parse_seen)
    private = private_keys()[name]
    assert "d" in private
    assert keys.parse_keys([private])
    assert seen
    assert PRIVATE.isdisjoint(set().union(*seen))


@pytest.mark.parametrize(
    "change",
    [{"n": "AQ" * 2_000}, {"e": urlsafe_b64encode(b"\x01" * 32).decode()}, {"n": 5}, {"e": None}, {"n": ""}],
)
def test_keys_with_members_that_are_too_long_or_missing_are_ignored(change: dict[str, Any]) -> None:
    assert keys.parse_keys([{**public_keys()["RS256"], **change}]) == ()

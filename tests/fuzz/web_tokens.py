"""Tokens and keys of identity providers (JWT and JWKS): only documented errors, and an independent verification.

The first line of an input says what the rest is: `jwks` a key set, an algorithm the header and the claims that a key of
the harness signs, and anything else a whole token.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from tests.fuzz.harness import Harness
from wattgate.delivery.openid.keys import ALGORITHMS, KEY_TYPES, MAX_KEYS, RSA_BITS, find_keys, parse_keys
from wattgate.delivery.openid.tokens import (
    MAX_SUBJECT_CHARACTERS,
    ExternalToken,
    RejectedToken,
    TokenRules,
    looks_like_jwt,
    read_header,
    read_issuer,
    verify_token,
)

NOW, SKEW = datetime(2026, 6, 1, 12, tzinfo=UTC), timedelta(seconds=60)
ISSUER, AUDIENCE = "https://login.example", "energy-app"
RULES = TokenRules(ISSUER, (AUDIENCE,), ALGORITHMS, SKEW)
ED25519_KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
P256_KEY = ec.derive_private_key(2**200 + 7, ec.SECP256R1())


def to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


_POINT = P256_KEY.public_key().public_numbers()
ED25519_JWK = {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": to_base64(ED25519_KEY.public_key().public_bytes_raw())}
P256_JWK = {
    **{"kty": "EC", "crv": "P-256", "kid": "p", "alg": "ES256"},
    **{"x": to_base64(_POINT.x.to_bytes(32)), "y": to_base64(_POINT.y.to_bytes(32))},
}
RSA_JWK = {"kty": "RSA", "kid": "r", "use": "sig", "e": "AQAB", "n": to_base64((2**2_047 + 2**1_000 + 1).to_bytes(256))}
KEYS = parse_keys([ED25519_JWK, P256_JWK])


def check(data: bytes) -> bool:
    kind, _, rest = data.partition(b"\n")
    if kind == b"jwks":
        return check_key_set(rest)
    if kind in SIGNERS:
        header, _, claims = rest.partition(b"\n")
        signed = f"{to_base64(header)}.{to_base64(claims)}"
        return check_token(f"{signed}.{to_base64(SIGNERS[kind](signed.encode()))}")
    return check_token(data.decode("latin-1"))


def _sign_p256(signed: bytes) -> bytes:
    r, s = decode_dss_signature(P256_KEY.sign(signed, ec.ECDSA(hashes.SHA256(), deterministic_signing=True)))
    return r.to_bytes(32) + s.to_bytes(32)


def _sign_with_public_key(signed: bytes) -> bytes:
    """Use a public key as the secret of an HMAC, which a verifier must not accept."""
    return hmac.digest(ED25519_KEY.public_key().public_bytes_raw(), signed, hashlib.sha256)


SIGNERS: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"EdDSA": ED25519_KEY.sign,
    b"ES256": _sign_p256,
    b"HS256": _sign_with_public_key,
    b"none": lambda signed: b"",
}
"""The signatures of tokens, by algorithm."""


def check_token(token: str) -> bool:
    """Check a token, and return whether it is accepted."""
    issuer = read_issuer(token)
    try:
        header = read_header(token, RULES)
        accepted = verify_token(token, find_keys(KEYS, header.key_id, header.algorithm), RULES, NOW)
    except RejectedToken:
        return False
    assert issuer == ISSUER
    assert looks_like_jwt(token)
    claims = read_independently(token)
    assert claims is not None
    check_claims(claims, accepted)
    return True


def read_independently(token: str) -> dict[str, Any] | None:
    """Return the claims of a token that a key of the harness has signed, without the library of the gateway."""
    signed, _, signature = token.rpartition(".")
    header, _, claims = signed.partition(".")
    algorithm, encoded = json.loads(from_base64(header))["alg"], from_base64(signature)
    with suppress(InvalidSignature):
        if algorithm == "EdDSA":
            ED25519_KEY.public_key().verify(encoded, signed.encode())
        else:
            assert (algorithm, len(encoded)) == ("ES256", 64)
            der = encode_dss_signature(int.from_bytes(encoded[:32]), int.from_bytes(encoded[32:]))
            P256_KEY.public_key().verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
        return dict(json.loads(from_base64(claims)))
    return None


def check_claims(claims: dict[str, Any], accepted: ExternalToken) -> None:
    """Raise AssertionError unless the claims are valid now, and those that the gateway has read."""
    audience = claims["aud"]
    assert claims["iss"] == accepted.issuer == ISSUER
    assert AUDIENCE in ([audience] if isinstance(audience, str) else audience)
    assert claims["sub"] == accepted.subject
    assert 0 < len(accepted.subject) <= MAX_SUBJECT_CHARACTERS
    now, skew = NOW.timestamp(), SKEW.total_seconds()
    assert claims["exp"] > now - skew
    assert max(claims["iat"], claims.get("nbf", 0)) <= now + skew
    assert accepted.email in ("", str(claims.get("email")).strip())
    assert not accepted.email or claims["email_verified"] is True


def check_key_set(content: bytes) -> bool:
    """Check a key set, and return whether it has keys that are used."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    documents = document if isinstance(document, list) else [document]
    keys = parse_keys(documents)
    assert len(keys) <= MAX_KEYS * len(KEY_TYPES)
    members = [one for one in documents if isinstance(one, dict)]
    for key in keys:
        public = key.key.key
        if isinstance(public, rsa.RSAPublicKey):
            assert public.key_size in RSA_BITS
            numbers = public.public_numbers()
            assert any(_number(one.get("n")) == numbers.n and _number(one.get("e")) == numbers.e for one in members)
        else:
            assert isinstance(public, ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey)
    return keys != ()


def _number(text: object) -> int | None:
    return int.from_bytes(from_base64(text)) if isinstance(text, str) else None


def signed_input(kind: str, claims: dict[str, Any], **header: Any) -> bytes:
    """Return an input: the algorithm, a header with more members, and claims."""
    written = (json.dumps(part).encode() for part in ({"alg": kind, "typ": "JWT", **header}, claims))
    return b"\n".join([kind.encode(), *written])


CLAIMS = {
    **{
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": int(NOW.timestamp()) - 5,
        "exp": int(NOW.timestamp()) + 600,
    },
    **{"email": "ada@example.org", "email_verified": True, "name": "Ada", "nbf": int(NOW.timestamp()) - 5},
}

HARNESS = Harness(
    "tokens",
    check,
    (
        signed_input("EdDSA", CLAIMS, kid="ed"),
        signed_input("EdDSA", {**CLAIMS, "aud": [AUDIENCE, "other"], "exp": NOW.timestamp() + 0.5}),
        signed_input("ES256", {**CLAIMS, "email_verified": "true", "sub": 5}, kid="p", crit=["b64"]),
        signed_input("HS256", CLAIMS, kid="ed"),
        signed_input("none", CLAIMS),
        b"eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUifQ.AA",
        b"jwks\n" + json.dumps([ED25519_JWK, P256_JWK, RSA_JWK]).encode(),
        b"jwks\n" + json.dumps([{**RSA_JWK, "n": "AQ" * 90, "d": "AQAB"}, {**P256_JWK, "crv": "P-521"}]).encode(),
        b"jwks\n" + json.dumps([{**ED25519_JWK, "alg": "HS256"}, {**ED25519_JWK, "use": "enc"}, 5, None]).encode(),
    ),
    (
        *(b"null", b"true", b"-1", b"1e400", b"NaN", b"9" * 30, b'""', b"[]", b"{}", b"[[[[", b"\\ud800", b"\xff"),
        *(b'"alg":"none"', b'"alg":"HS256"', b'"typ":"at+jwt"', b'"crit":["exp"]', b'"b64":false', b'"kid":5', b"\0"),
        *(b'"exp":1e12,', b'"iat":1e12,', b'"nbf":"1",', b'"sub":"\\u0000",', b'"aud":5,', b".", b"=", b"-", b"_"),
        *(b'"kty":"oct"', b'"e":"AA"', b'"n":"AA"', b'"x":""', b'"crv":"Ed448"', b"EdDSA\n", b"ES256\n", b"jwks\n"),
    ),
    {
        "keys": lambda count: b"jwks\n" + json.dumps([ED25519_JWK] * count).encode(),
        "claims": lambda count: signed_input("EdDSA", {**CLAIMS, **{f"x{n}": n for n in range(count)}}),
        "dots": lambda count: b"ey." * count,
    },
)

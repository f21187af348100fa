"""Web Push: encryption of messages, and VAPID tokens."""

import base64
import json
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from tests.support.browsers import Browser
from wattgate.delivery.channels.web_push import (
    CURVE,
    MAX_PLAINTEXT_BYTES,
    InvalidKey,
    PushSubscription,
    Vapid,
    decode_base64,
    encode_base64url,
    encrypt,
    parse_subscription,
    token_problem,
)

KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
CONTACT = "mailto:push@example.org"
NOW = datetime(2026, 6, 1, 12, 10, tzinfo=UTC)


def test_example_of_rfc_8291_has_the_expected_bytes() -> None:
    private = ec.derive_private_key(int.from_bytes(decode_base64(KEY), "big"), CURVE)
    browser = PushSubscription(
        "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        decode_base64("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
        decode_base64("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    body = encrypt(
        b"When I grow up, I want to be a watermelon",
        browser,
        salt=decode_base64("DGv6ra1nlYgDCS1FRnbzlw"),
        private_key=private,
    )
    assert encode_base64url(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y"
        "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize("length", [0, 1, 100, MAX_PLAINTEXT_BYTES])
def test_browser_decrypts_the_message(length: int) -> None:
    browser = Browser("https://push.example.net/1")
    body = encrypt(b"x" * length, browser.subscription)
    assert len(body) <= 4096
    assert browser.decrypt(body) == b"x" * length


def test_each_message_has_a_new_key_and_salt() -> None:
    browser = Browser("https://push.example.net/1")
    one, other = (encrypt(b"same", browser.subscription) for _ in "ab")
    assert one[:16] != other[:16]
    assert one[21:86] != other[21:86]


def test_vapid_token_is_signed_for_the_origin_of_the_push_service() -> None:
    vapid = Vapid(KEY, CONTACT)
    scheme, parameters = vapid.authorization("https://push.example.net:8443/a/b?c", NOW).split(" ", 1)
    parts = dict(part.strip().split("=", 1) for part in parameters.split(","))
    header, claims, signature = parts["t"].split(".")
    assert (scheme, json.loads(decode_base64(header))) == ("vapid", {"typ": "JWT", "alg": "ES256"})
    assert json.loads(decode_base64(claims)) == {
        "aud": "https://push.example.net:8443",
        "exp": int(NOW.timestamp()) + 12 * 3600,
        "sub": CONTACT,
    }
    point = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, decode_base64(parts["k"]))
    raw = decode_base64(signature)
    signature_der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    point.verify(signature_der, f"{header}.{claims}".encode(), ec.ECDSA(SHA256()))
    assert parts["k"] == vapid.public_key


@pytest.mark.parametrize(
    "key", ["", "short", "!" * 43, encode_base64url(b"\x00" * 32), encode_base64url(b"\xff" * 32), KEY + "AAAA"]
)
def test_invalid_private_key_is_rejected(key: str) -> None:
    with pytest.raises(InvalidKey):
        Vapid(key, CONTACT)


def test_subscription_is_parsed_with_all_variants_of_base64() -> None:
    browser = Browser("https://push.example.net/1")
    padded = {
        "endpoint": "https://push.example.net/1",
        "expirationTime": None,
        "keys": {
            "p256dh": base64.b64encode(browser.subscription.public_key).decode(),
            "auth": base64.urlsafe_b64encode(browser.subscription.secret).decode(),
        },
    }
    assert parse_subscription(json.dumps(padded)) == browser.subscription
    assert parse_subscription(browser.token) == browser.subscription


@pytest.mark.parametrize(
    "change",
    [
        {"keys": {}},
        {"keys": None},
        {"keys": {"p256dh": "AAAA", "auth": "AAAA"}},
        {"keys": {"p256dh": encode_base64url(b"\x04" + b"\x01" * 64), "auth": encode_base64url(b"a" * 16)}},
        {"endpoint": None, "keys": 3},
    ],
)
def test_invalid_subscription_is_not_a_token(change: dict[str, object]) -> None:
    token = json.dumps({**json.loads(Browser("https://push.example.net/1").token), **change})
    assert parse_subscription(token) is None
    assert token_problem(token) == "is JSON, but not a browser's push subscription"


def test_phone_tokens_are_not_subscriptions() -> None:
    for token in ("fcm:abc", "12345", '"text"', "[]", "dGVzdA:APA91b"):
        assert parse_subscription(token) is None
        assert token_problem(token) is None
    assert token_problem(" ") == "is empty"
    assert token_problem("x" * 4097) == "is longer than 4,096 characters"

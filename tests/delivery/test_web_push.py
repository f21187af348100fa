"""Web Push: messages that a browser alone can read, and who sends them."""

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
    MAX_PLAINTEXT,
    BadKey,
    Subscription,
    Vapid,
    base64url,
    encrypt,
    subscription_of,
    unbase64,
    wrong_with,
)

KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
CONTACT = "mailto:push@example.org"
NOW = datetime(2026, 6, 1, 12, 10, tzinfo=UTC)


def test_the_example_of_rfc_8291_is_encrypted_to_its_very_bytes() -> None:
    private = ec.derive_private_key(int.from_bytes(unbase64(KEY), "big"), CURVE)
    browser = Subscription(
        "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        unbase64("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
        unbase64("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    body = encrypt(
        b"When I grow up, I want to be a watermelon", browser, salt=unbase64("DGv6ra1nlYgDCS1FRnbzlw"), ours=private
    )
    assert base64url(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y"
        "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize("length", [0, 1, 100, MAX_PLAINTEXT])
def test_a_browser_reads_what_was_encrypted_for_it(length: int) -> None:
    browser = Browser("https://push.example.net/1")
    body = encrypt(b"x" * length, browser.subscription)
    assert len(body) <= 4096
    assert browser.decrypt(body) == b"x" * length


def test_no_two_messages_have_the_same_key_or_salt() -> None:
    browser = Browser("https://push.example.net/1")
    one, other = (encrypt(b"same", browser.subscription) for _ in "ab")
    assert one[:16] != other[:16]
    assert one[21:86] != other[21:86]


def test_the_sender_shows_a_signed_claim_for_the_push_services_own_origin() -> None:
    vapid = Vapid(KEY, CONTACT)
    scheme, told = vapid.authorization("https://push.example.net:8443/a/b?c", NOW).split(" ", 1)
    parts = dict(part.strip().split("=", 1) for part in told.split(","))
    head, claims, signature = parts["t"].split(".")
    assert (scheme, json.loads(unbase64(head))) == ("vapid", {"typ": "JWT", "alg": "ES256"})
    assert json.loads(unbase64(claims)) == {
        "aud": "https://push.example.net:8443",
        "exp": int(NOW.timestamp()) + 12 * 3600,
        "sub": CONTACT,
    }
    point = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, unbase64(parts["k"]))
    raw = unbase64(signature)
    made = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    point.verify(made, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))
    assert parts["k"] == vapid.public_key


@pytest.mark.parametrize("key", ["", "short", "!" * 43, base64url(b"\x00" * 32), base64url(b"\xff" * 32), KEY + "AAAA"])
def test_what_is_no_private_key_is_refused(key: str) -> None:
    with pytest.raises(BadKey):
        Vapid(key, CONTACT)


def test_a_subscription_is_read_with_whatever_base64_a_browser_writes() -> None:
    browser = Browser("https://push.example.net/1")
    padded = {
        "endpoint": "https://push.example.net/1",
        "expirationTime": None,
        "keys": {
            "p256dh": base64.b64encode(browser.subscription.public_key).decode(),
            "auth": base64.urlsafe_b64encode(browser.subscription.secret).decode(),
        },
    }
    assert subscription_of(json.dumps(padded)) == browser.subscription
    assert subscription_of(browser.token) == browser.subscription


@pytest.mark.parametrize(
    "change",
    [
        {"keys": {}},
        {"keys": None},
        {"keys": {"p256dh": "AAAA", "auth": "AAAA"}},
        {"keys": {"p256dh": base64url(b"\x04" + b"\x01" * 64), "auth": base64url(b"a" * 16)}},
        {"endpoint": None, "keys": 3},
    ],
)
def test_what_no_browser_says_is_no_subscription_and_no_token(change: dict[str, object]) -> None:
    token = json.dumps({**json.loads(Browser("https://push.example.net/1").token), **change})
    assert subscription_of(token) is None
    assert wrong_with(token) == "is JSON, but no subscription of a browser"


def test_tokens_of_phones_are_no_subscriptions() -> None:
    for token in ("fcm:abc", "12345", '"text"', "[]", "dGVzdA:APA91b"):
        assert subscription_of(token) is None
        assert wrong_with(token) is None
    assert wrong_with(" ") == "is empty"
    assert wrong_with("x" * 4097) == "is longer than 4,096 characters"

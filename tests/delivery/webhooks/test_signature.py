"""Signatures of webhooks, checked with the library of those who wrote their standard."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from wattgate.delivery.http import signature

BODY = '{"eventCode": "alert.sent", "name": "Zoë"}'.encode()


def test_a_message_is_taken_by_whoever_has_the_secret_and_by_no_one_else() -> None:
    secret, other = signature.new_secret(), signature.new_secret()
    headers = signature.headers("msg_1", datetime.now(UTC), BODY, [secret])
    assert Webhook(secret).verify(BODY.decode(), headers) == {"eventCode": "alert.sent", "name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(BODY.decode(), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY.decode() + " ", headers)


def test_while_a_secret_changes_the_old_and_the_new_one_hold() -> None:
    old, new = signature.new_secret(), signature.new_secret()
    headers = signature.headers("msg_1", datetime.now(UTC), BODY, [new, old])
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        assert Webhook(secret).verify(BODY.decode(), headers)


def test_a_message_of_long_ago_is_not_taken() -> None:
    secret = signature.new_secret()
    headers = signature.headers("msg_1", datetime.now(UTC) - timedelta(minutes=6), BODY, [secret])
    with pytest.raises(WebhookVerificationError, match="old"):
        Webhook(secret).verify(BODY.decode(), headers)


def test_the_example_of_the_standards_libraries_is_signed_as_they_sign_it() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    told = signature.headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", datetime.fromtimestamp(1614265330, UTC), b'{"test": 2432232314}', [secret]
    )
    assert told == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_without_a_secret_there_is_no_signature() -> None:
    assert "webhook-signature" not in signature.headers("msg_1", datetime.now(UTC), BODY, [])


def test_new_secrets_are_long_and_differ() -> None:
    made = {signature.new_secret() for _ in range(100)}
    assert len(made) == 100
    assert {len(signature.key_of(one)) for one in made} == {32}


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "whsec_not base64!",
        base64.b64encode(bytes(32)).decode(),
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
    ],
)
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        signature.key_of(secret)

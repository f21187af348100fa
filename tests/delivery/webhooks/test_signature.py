"""Signatures of webhooks, verified with the reference library of Standard Webhooks."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from wattgate.delivery.channels import webhook

BODY = '{"eventCode": "alert.sent", "name": "Zoë"}'.encode()


def test_message_is_verified_only_with_its_secret_and_unchanged_body() -> None:
    secret, other = webhook.new_secret(), webhook.new_secret()
    headers = webhook.signature_headers("msg_1", datetime.now(UTC), BODY, [secret])
    assert Webhook(secret).verify(BODY.decode(), headers) == {"eventCode": "alert.sent", "name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(BODY.decode(), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY.decode() + " ", headers)


def test_message_with_two_signatures_is_verified_with_either_secret() -> None:
    old, new = webhook.new_secret(), webhook.new_secret()
    headers = webhook.signature_headers("msg_1", datetime.now(UTC), BODY, [new, old])
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        assert Webhook(secret).verify(BODY.decode(), headers)


def test_old_message_is_rejected() -> None:
    secret = webhook.new_secret()
    headers = webhook.signature_headers("msg_1", datetime.now(UTC) - timedelta(minutes=6), BODY, [secret])
    with pytest.raises(WebhookVerificationError, match="old"):
        Webhook(secret).verify(BODY.decode(), headers)


def test_example_of_the_reference_libraries_has_the_expected_signature() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    headers = webhook.signature_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", datetime.fromtimestamp(1614265330, UTC), b'{"test": 2432232314}', [secret]
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_without_a_secret_there_is_no_signature() -> None:
    assert "webhook-signature" not in webhook.signature_headers("msg_1", datetime.now(UTC), BODY, [])


def test_new_secrets_are_long_and_differ() -> None:
    secrets = {webhook.new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(webhook.decode_secret(secret)) for secret in secrets} == {32}


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
def test_invalid_secret_is_rejected(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        webhook.decode_secret(secret)

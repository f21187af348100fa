"""Web Push without I/O: subscriptions of browsers, encryption of messages, and VAPID authentication.

See RFC 8030 (the request), RFC 8188 and RFC 8291 (the encryption) and RFC 8292 (VAPID). The primitives are those of the
library `cryptography`. Packages for Web Push are not used, because they bring their own HTTP clients, which do not
check the destination of a request.
"""

import base64
import binascii
import json
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()
POINT_BYTES, SECRET_BYTES, SALT_BYTES, TAG_BYTES = 65, 16, 16, 16
"""Bytes of an uncompressed public key, of the shared secret of a browser, of a salt, and of an AEAD tag."""

MAX_TOKEN_LENGTH = 4_096
"""Maximum characters of a push token."""

MAX_PLAINTEXT_BYTES = 3993
"""Maximum bytes of a message. Encrypted, these are 4096 bytes, which every push service accepts."""

LAST_RECORD_DELIMITER = b"\x02"
"""The delimiter after the last record. The message is the only record."""

VAPID_TOKEN_LIFETIME = timedelta(hours=12)
"""Lifetime of a VAPID token. RFC 8292 allows at most a day."""


class InvalidKey(ValueError):
    """A key is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """The result of a browser's `PushManager.subscribe`: the endpoint, and the keys that encrypt messages."""

    endpoint: str
    public_key: bytes
    secret: bytes


def parse_subscription(token: str) -> PushSubscription | None:
    """Parse a push token with the JSON of a subscription. Return None for the token of another kind of app."""
    try:
        parsed = json.loads(token)
        keys = parsed["keys"]
        subscription = PushSubscription(
            str(parsed["endpoint"]), decode_base64(keys["p256dh"]), decode_base64(keys["auth"])
        )
        _decode_point(subscription.public_key)
    except (ValueError, TypeError, KeyError):
        return None
    return subscription if len(subscription.secret) == SECRET_BYTES else None


def token_problem(token: str) -> str | None:
    """Return the problem of a push token of any kind, or None."""
    if not token.strip():
        return "is empty"
    if len(token) > MAX_TOKEN_LENGTH:
        return f"is longer than {MAX_TOKEN_LENGTH:,} characters"
    if token.lstrip().startswith("{") and parse_subscription(token) is None:
        return "is JSON, but not a browser's push subscription"
    return None


def encrypt(
    plaintext: bytes,
    subscription: PushSubscription,
    *,
    salt: bytes | None = None,
    private_key: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """Encrypt a push message (aes128gcm) and return the request body.

    Each message gets a new salt and key. Only tests pass them.
    """
    salt = os.urandom(SALT_BYTES) if salt is None else salt
    private_key = private_key or ec.generate_private_key(CURVE)
    sender_point = _encode_point(private_key.public_key())
    shared_secret = private_key.exchange(ec.ECDH(), _decode_point(subscription.public_key))
    info = b"WebPush: info\x00" + subscription.public_key + sender_point
    key_material = _derive_key(shared_secret, subscription.secret, info, 32)
    key = _derive_key(key_material, salt, b"Content-Encoding: aes128gcm\x00", 16)
    nonce = _derive_key(key_material, salt, b"Content-Encoding: nonce\x00", 12)
    ciphertext = AESGCM(key).encrypt(nonce, plaintext + LAST_RECORD_DELIMITER, None)
    record_size = max(4096, len(ciphertext))
    return salt + record_size.to_bytes(4, "big") + bytes((len(sender_point),)) + sender_point + ciphertext


class Vapid:
    """The sender of pushes: a key pair, and a contact address of its owner (mailto: or https:)."""

    def __init__(self, private_key: str, contact: str) -> None:
        """Load the private key: 32 bytes in base64url, as key generators for Web Push print it.

        Raise InvalidKey for any other text.
        """
        try:
            number = decode_base64(private_key)
            self._key = ec.derive_private_key(int.from_bytes(number, "big"), CURVE)
        except ValueError:
            raise InvalidKey(
                "is not a private key of P-256 in base64url. Write the private key of a VAPID key pair"
            ) from None
        if len(number) != 32:
            raise InvalidKey("is not 32 bytes long in base64url. Write the private key of a VAPID key pair")
        self.public_key = encode_base64url(_encode_point(self._key.public_key()))
        self._contact = contact

    def authorization(self, endpoint: str, now: datetime) -> str:
        """Return the Authorization header of a request to an endpoint."""
        url = urlsplit(endpoint)
        claims = {
            "aud": f"{url.scheme}://{url.netloc}",
            "exp": int((now + VAPID_TOKEN_LIFETIME).timestamp()),
            "sub": self._contact,
        }
        header = encode_base64url(json.dumps({"typ": "JWT", "alg": "ES256"}).encode())
        signing_input = f"{header}.{encode_base64url(json.dumps(claims).encode())}"
        r, s = decode_dss_signature(self._key.sign(signing_input.encode(), ec.ECDSA(SHA256())))
        signature = encode_base64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={signing_input}.{signature}, k={self.public_key}"


def encode_base64url(value: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def decode_base64(text: str) -> bytes:
    """Decode base64 or base64url, with or without padding. Raise ValueError if it is neither."""
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _derive_key(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(material)


def _decode_point(encoded: bytes) -> ec.EllipticCurvePublicKey:
    if len(encoded) != POINT_BYTES:
        raise InvalidKey("is not an uncompressed point of P-256")
    return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, encoded)


def _encode_point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

"""Web Push without the network: what a browser subscribes with, and a message that it alone can read.

RFC 8030 (the request), RFC 8188 and RFC 8291 (the encryption), RFC 8292 (who sends: VAPID). The primitives are those
of the library `cryptography`; the packages that put them together bring HTTP clients of their own, which would not
check where an endpoint leads.
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
POINT, SECRET, SALT, TAG = 65, 16, 16, 16
"""Bytes of a public key (uncompressed), of the secret that a browser shares, of a salt, and of a seal."""

MAX_TOKEN = 4_096
"""Characters of a push token."""

MAX_PLAINTEXT = 3993
"""Bytes of a message; with what encrypts it they are 4096, which every push service takes."""

LAST_RECORD = b"\x02"
"""Stands after the message, which is the only record."""

TOKEN_LIFE = timedelta(hours=12)
"""RFC 8292 allows a day at most."""


class BadKey(ValueError):
    """A key that is none; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What `PushManager.subscribe` gives: where messages go, and with what they are encrypted."""

    endpoint: str
    public_key: bytes
    secret: bytes


def subscription_of(token: str) -> Subscription | None:
    """The subscription that a push token holds as JSON, or None for the token of another kind of app."""
    try:
        given = json.loads(token)
        keys = given["keys"]
        found = Subscription(str(given["endpoint"]), unbase64(keys["p256dh"]), unbase64(keys["auth"]))
        _point(found.public_key)
    except (ValueError, TypeError, KeyError):
        return None
    return found if len(found.secret) == SECRET else None


def wrong_with(token: str) -> str | None:
    """What keeps a text from being a push token, of whatever kind; None for nothing."""
    if not token.strip():
        return "is empty"
    if len(token) > MAX_TOKEN:
        return f"is longer than {MAX_TOKEN:,} characters"
    if token.lstrip().startswith("{") and subscription_of(token) is None:
        return "is JSON, but no subscription of a browser"
    return None


def encrypt(
    plaintext: bytes, to: Subscription, *, salt: bytes | None = None, ours: ec.EllipticCurvePrivateKey | None = None
) -> bytes:
    """The body of a push message (aes128gcm). The salt and the key are fresh for each, but for tests."""
    salt = os.urandom(SALT) if salt is None else salt
    ours = ours or ec.generate_private_key(CURVE)
    our_point = _bytes_of(ours.public_key())
    shared = ours.exchange(ec.ECDH(), _point(to.public_key))
    info = b"WebPush: info\x00" + to.public_key + our_point
    material = _derived(shared, to.secret, info, 32)
    key = _derived(material, salt, b"Content-Encoding: aes128gcm\x00", 16)
    nonce = _derived(material, salt, b"Content-Encoding: nonce\x00", 12)
    sealed = AESGCM(key).encrypt(nonce, plaintext + LAST_RECORD, None)
    record_size = max(4096, len(sealed))
    return salt + record_size.to_bytes(4, "big") + bytes((len(our_point),)) + our_point + sealed


class Vapid:
    """Who sends: a key pair, and an address at which its holder can be reached (mailto: or https:)."""

    def __init__(self, private_key: str, contact: str) -> None:
        """The private key is 32 bytes in base64url, as key generators for Web Push print it. BadKey for any other."""
        try:
            number = unbase64(private_key)
            self._key = ec.derive_private_key(int.from_bytes(number, "big"), CURVE)
        except ValueError:
            raise BadKey("is no private key of P-256 in base64url") from None
        if len(number) != 32:
            raise BadKey("is not 32 bytes long in base64url")
        self.public_key = base64url(_bytes_of(self._key.public_key()))
        self._contact = contact

    def authorization(self, endpoint: str, now: datetime) -> str:
        """The header Authorization of a request to an endpoint."""
        place = urlsplit(endpoint)
        claims = {
            "aud": f"{place.scheme}://{place.netloc}",
            "exp": int((now + TOKEN_LIFE).timestamp()),
            "sub": self._contact,
        }
        head = base64url(json.dumps({"typ": "JWT", "alg": "ES256"}).encode())
        signed = f"{head}.{base64url(json.dumps(claims).encode())}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = base64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={signed}.{signature}, k={self.public_key}"


def base64url(value: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def unbase64(text: str) -> bytes:
    """The bytes of base64, for URLs or not, with or without padding. ValueError where it is none."""
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _derived(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(material)


def _point(encoded: bytes) -> ec.EllipticCurvePublicKey:
    if len(encoded) != POINT:
        raise BadKey("is no uncompressed point of P-256")
    return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, encoded)


def _bytes_of(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

"""The browser side of Web Push, implemented from RFC 8291 independently of the delivery code."""

import json
import os

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from wattgate.delivery.channels.web_push import PushSubscription, encode_base64url


class Browser:
    """A browser app with a subscription at an endpoint of a push service."""

    def __init__(self, endpoint: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.subscription = PushSubscription(endpoint, point, os.urandom(16))

    @property
    def token(self) -> str:
        """The push token that the app registers."""
        keys = {
            "p256dh": encode_base64url(self.subscription.public_key),
            "auth": encode_base64url(self.subscription.secret),
        }
        return json.dumps({"endpoint": self.subscription.endpoint, "keys": keys})

    def decrypt(self, body: bytes) -> bytes:
        """Return the message in the body of a push request."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender_key, ciphertext = body[21 : 21 + length], body[21 + length :]
        assert len(ciphertext) <= size
        shared = self._key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender_key))
        info = b"WebPush: info\0" + self.subscription.public_key + sender_key
        material = HKDF(SHA256(), 32, self.subscription.secret, info).derive(shared)
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(material)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(material)
        plain = AESGCM(key).decrypt(nonce, ciphertext, None).rstrip(b"\0")
        assert plain[-1:] == b"\x02"
        return plain[:-1]

"""OpenID providers: oidc-provider-mock in a process of its own, and one whose tokens and faults a test chooses."""

import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.servers import serving

AUDIENCE = "energy-app"
LOOPBACK: dict[str, Any] = {"callout_networks": ["127.0.0.0/8"], "callout_http": True}
"""Settings of a gateway that may reach a provider on this machine."""

REDIRECT = "https://app.example/back"

_SERVER = """
import os, sys
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
from oidc_provider_mock import app
from werkzeug.serving import make_server
server = make_server("127.0.0.1", int(sys.argv[1]), app(), threaded=True)
print(server.server_port, flush=True)
server.serve_forever(0.05)
"""


@dataclass
class RealProvider:
    """oidc-provider-mock. A restart gives it new keys and forgets its users and tokens."""

    port: int = 0
    process: subprocess.Popen[str] | None = None

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-W", "ignore", "-c", _SERVER, str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    async def log_in(self, subject: str, **claims: Any) -> dict[str, Any]:
        """Log a user in with the authorization code flow, and return the response with the tokens."""
        async with httpx.AsyncClient(base_url=self.issuer, timeout=30) as http:
            (await http.put(f"/users/{subject}", json=claims)).raise_for_status()
            query = {
                "client_id": AUDIENCE,
                "redirect_uri": REDIRECT,
                "response_type": "code",
                "scope": "openid profile email",
            }
            sent = await http.post("/oauth2/authorize", params=query, data={"sub": subject})
            (code,) = parse_qs(urlsplit(sent.headers["Location"]).query)["code"]
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
            response = await http.post("/oauth2/token", data=form, auth=(AUDIENCE, "secret"))
            return dict(response.json())

    async def revoke_tokens(self, subject: str) -> None:
        async with httpx.AsyncClient(base_url=self.issuer, timeout=30) as http:
            (await http.post(f"/users/{subject}/revoke-tokens")).raise_for_status()


@contextmanager
def real_provider() -> Iterator[RealProvider]:
    """Run oidc-provider-mock on a free port."""
    provider = RealProvider()
    provider.start()
    try:
        yield provider
    finally:
        provider.stop()


PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

EC_KEY, ED_KEY = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()


@cache
def rsa_key(number: int) -> rsa.RSAPrivateKey:
    """Return the RSA key with this number. The first call generates it, because few workers need one."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def weak_key() -> rsa.RSAPrivateKey:
    """Return a key that is too short, so that the gateway refuses it."""
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505


@dataclass
class ChosenProvider:
    """A provider whose keys, tokens and faults a test chooses. `requests` counts the requests by path."""

    issuer: str = ""
    keys: dict[str, PrivateKey] = field(default_factory=lambda: {"first": rsa_key(0)})
    metadata: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    raw: bytes | None = None
    active: bool = True
    requests: dict[str, int] = field(default_factory=dict)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return the claims of a valid token of a new subject. A value of None removes a claim."""
        now = datetime.now(UTC)
        claims = {
            "iss": self.issuer,
            "sub": uuid4().hex,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + timedelta(hours=1),
            **changed,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def sign(
        self,
        key_id: str | None = "first",
        algorithm: str = "RS256",
        *,
        key: Any = None,
        kind: str = "JWT",
        **claims: Any,
    ) -> str:
        """Return a token with claims of `claims`, signed by one of the keys or by another one."""
        header = {"typ": kind, **({} if key_id is None else {"kid": key_id})}
        signer = key or self.keys[key_id or "first"]
        return jwt.encode(self.claims(**claims), signer, algorithm, headers=header)

    def public_pem(self, key_id: str = "first") -> bytes:
        return (
            self.keys[key_id]
            .public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )

    def forge(
        self, header: dict[str, Any], payload: bytes | None = None, sign: Callable[[bytes], bytes] = lambda text: b""
    ) -> str:
        """Return a token with any header, payload and signature."""
        claims = self.claims()
        claims |= {name: int(claims[name].timestamp()) for name in ("iat", "exp")}
        signed = b".".join(map(to_base64, (json.dumps(header).encode(), payload or json.dumps(claims).encode())))
        return (signed + b"." + to_base64(sign(signed))).decode()

    async def respond(self, request: Request) -> Response:
        path = request.url.path
        self.requests[path] = self.requests.get(path, 0) + 1
        if self.raw is not None:
            return Response(self.raw)
        if self.status != 200:
            return Response(status_code=self.status)
        return JSONResponse(await self._content(path, request))

    async def _content(self, path: str, request: Request) -> dict[str, Any]:
        if path == "/keys":
            return {"keys": [public_jwk(key_id, key) for key_id, key in self.keys.items()]}
        if path == "/introspect":
            return {"active": self.active and request.headers.get("Authorization", "").startswith("Basic ")}
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/keys",
            "introspection_endpoint": f"{self.issuer}/introspect",
            **self.metadata,
        }


def to_base64(data: bytes) -> bytes:
    """Return data in base64url without padding, as the parts of a token have it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def public_jwk(key_id: str, key: PrivateKey) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        document = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        document = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        document = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**document, "kid": key_id, "use": "sig"}


@asynccontextmanager
async def chosen_provider() -> AsyncIterator[ChosenProvider]:
    """Serve a provider whose tokens and faults a test chooses."""
    provider = ChosenProvider()
    routes = [Route("/{path:path}", provider.respond, methods=["GET", "POST"])]
    async with serving(Starlette(routes=routes)) as url:
        provider.issuer = url
        yield provider


def new_directory(issuer: str, **values: Any) -> dict[str, Any]:
    """Return the input of `addDirectory` for a provider."""
    return {"name": "People", "issuer": issuer, "audiences": [AUDIENCE], **values}

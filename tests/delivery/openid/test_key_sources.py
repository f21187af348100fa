"""The keys of a directory come from its configured issuer only: no token and no metadata names another source."""

import json
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import jwt
import pytest

from tests.support.openid import AUDIENCE, ChosenProvider, chosen_provider, public_jwk, rsa_key
from wattgate.delivery.egress import EgressPolicy
from wattgate.delivery.openid.client import OpenIdClient
from wattgate.delivery.openid.tokens import ExternalToken, RejectedToken, TokenRules
from wattgate.errors import Unavailable

LOOPBACK = EgressPolicy((ip_network("127.0.0.0/8"),), allow_http=True)


async def verify(issuer: str, token: str) -> ExternalToken:
    rules = TokenRules(issuer, (AUDIENCE,), ("RS256",), timedelta(seconds=60))
    return await OpenIdClient(LOOPBACK).verify(token, rules, datetime.now(UTC), "application")


async def test_keys_that_a_token_names_or_contains_are_not_used() -> None:
    async with chosen_provider() as provider, chosen_provider() as stranger:
        stranger.keys = {"first": rsa_key(1)}
        own_key = json.loads(json.dumps(public_jwk("first", rsa_key(1))))
        sources: list[dict[str, Any]] = [
            {"jku": f"{stranger.issuer}/keys"},
            {"x5u": f"{stranger.issuer}/keys"},
            {"jwk": own_key},
            {"x5c": ["MIIB"], "x5t": "AAAA"},
            {"jku": f"{stranger.issuer}/keys", "jwk": own_key, "kid": "unknown"},
            {"kid": f"{stranger.issuer}/keys"},
            {"iss": stranger.issuer},
        ]
        for source in sources:
            header = {"typ": "JWT", "kid": "first", **source}
            token = jwt.encode(provider.claims(), rsa_key(1), "RS256", headers=header)
            with pytest.raises(RejectedToken, match="is not signed by a key"):
                await verify(provider.issuer, token)
        assert stranger.requests == {}
        signed = jwt.encode(provider.claims(), rsa_key(0), "RS256", headers={"kid": "first", **sources[0]})
        assert (await verify(provider.issuer, signed)).issuer == provider.issuer


async def test_metadata_of_another_issuer_is_refused() -> None:
    async with chosen_provider() as provider, chosen_provider() as stranger:
        for issuer in (
            stranger.issuer,
            f"{provider.issuer}/",
            provider.issuer.upper(),
            f"{provider.issuer}/tenant",
            "",
            None,
        ):
            await refuses_metadata(provider, {"issuer": issuer})
        provider.metadata = {}
        assert (await verify(provider.issuer, provider.sign())).issuer == provider.issuer
        assert stranger.requests == {}


async def refuses_metadata(provider: ChosenProvider, metadata: dict[str, Any]) -> None:
    """Assert that no key is fetched from a provider with these members in its metadata."""
    provider.metadata = metadata
    with pytest.raises(Unavailable):
        await verify(provider.issuer, provider.sign())
    assert "/keys" not in provider.requests, metadata

"""Metadata and tokens of well-known providers, as they document them: what logs in, and with which address."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from tests.support.openid import AUDIENCE, ChosenProvider, chosen_provider, rsa_key
from tests.support.openid_shapes import BASE, EMAIL, SHAPES, TENANT, ProviderShape
from wattgate.delivery.egress import EgressPolicy
from wattgate.delivery.openid.client import OpenIdClient
from wattgate.delivery.openid.tokens import MAX_TOKEN_CHARACTERS, RejectedToken, TokenRules

GUIDE = Path(__file__).parents[3] / "docs/how-to/log-in-with-your-directory.md"
LOOPBACK = EgressPolicy((ip_network("127.0.0.0/8"),), allow_http=True)
LOGOUT = {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}, "sid": "a1"}


@pytest.fixture
async def provider() -> AsyncIterator[ChosenProvider]:
    async with chosen_provider() as served:
        yield served


def become(provider: ChosenProvider, shape: ProviderShape) -> TokenRules:
    """Give a provider the issuer and the metadata of a shape. Return the rules of a directory for it."""
    base = provider.issuer
    provider.metadata = {"jwks_uri": f"{base}/keys", **shape.metadata}
    provider.issuer = base + shape.path
    return TokenRules(provider.issuer, (AUDIENCE,), ("RS256",), timedelta(seconds=60))


def with_base(claims: dict[str, Any], provider: ChosenProvider) -> dict[str, Any]:
    """Return claims with the address of the provider instead of BASE."""
    base = provider.metadata["jwks_uri"].removesuffix("/keys")
    return {
        name: [one.replace(BASE, base) for one in value] if name == "aud" and isinstance(value, list) else value
        for name, value in claims.items()
    }


@pytest.mark.every_case("each provider has a shape of its own")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_tokens_of_a_provider(provider: ChosenProvider, shape: ProviderShape) -> None:
    rules, client, now = become(provider, shape), OpenIdClient(LOOPBACK), datetime.now(UTC)

    async def verified_email(kind: str, **claims: Any) -> str:
        token = provider.sign(kind=kind, **with_base(claims, provider))
        return (await client.verify(token, rules, now, "one")).email

    assert await client.try_provider(provider.issuer, rules.algorithms, "one") is None
    assert await verified_email(shape.kind, **shape.claims) == shape.email
    if shape.access is not None:
        assert await verified_email(shape.access_kind, **shape.access) == ""
    # an address counts as verified by a text too, and in Entra ID by the optional claim
    stated = {"email": EMAIL, "email_verified": "true"} if "email_verified" in shape.claims else {"xms_edov": "1"}
    assert await verified_email(shape.kind, **shape.claims | stated) == EMAIL
    for kind in ("JWT", "logout+jwt"):  # back-channel log-out
        with pytest.raises(RejectedToken, match=r"reports events|has the type 'logout\+jwt'"):
            await verified_email(kind, **shape.claims | LOGOUT)
    with pytest.raises(RejectedToken, match="another audience"):
        await verified_email(shape.kind, **shape.claims | {"aud": ["other"]})
    with pytest.raises(RejectedToken, match="another client"):
        await verified_email(shape.kind, **shape.claims | {"azp": "other"})
    other = rules.issuer[:-1] if rules.issuer.endswith("/") else f"{rules.issuer}/"
    assert "its metadata name another issuer" in str(await client.try_provider(other, rules.algorithms, "one"))
    assert await client.try_provider(rules.issuer, ("ES512",), "one") == "its key set has no usable key for ES512"


async def test_tenants_and_groups_of_entra(provider: ChosenProvider) -> None:
    shape = next(one for one in SHAPES if one.name == "Entra ID")
    rules, client, now = become(provider, shape), OpenIdClient(LOOPBACK), datetime.now(UTC)
    groups = [f"{number:08d}-0000-4000-8000-{number:012d}" for number in range(200)]
    token = provider.sign(**shape.claims, groups=groups)
    assert 10_000 < len(token) < MAX_TOKEN_CHARACTERS
    assert (await client.verify(token, rules, now, "one")).subject == shape.claims["sub"]
    overage = {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://graph.example"}}}
    assert (await client.verify(provider.sign(**{**shape.claims, **overage}), rules, now, "one")).email == ""
    too_many = provider.sign(**shape.claims, groups=groups * 2)
    with pytest.raises(RejectedToken, match=r"has 2\d,\d{3} characters; the maximum is 16,384"):
        await client.verify(too_many, rules, now, "one")
    with pytest.raises(RejectedToken, match="another issuer"):
        await client.verify(
            provider.sign(**shape.claims, iss=provider.issuer.replace(TENANT, "other")), rules, now, "one"
        )
    # the metadata of all tenants name a template, which no token has
    provider.metadata["issuer"] = provider.issuer.replace(TENANT, "{tenantid}")
    fault = str(await client.try_provider(provider.issuer.replace(TENANT, "common"), rules.algorithms, "one"))
    assert "{tenantid}" in fault


async def test_new_key_under_the_same_id_logs_in_at_once(provider: ChosenProvider) -> None:
    shape = next(one for one in SHAPES if one.name == "Google")
    seconds = [1_000.0]
    rules, now = become(provider, shape), datetime.now(UTC)
    client = OpenIdClient(LOOPBACK, lambda: seconds[0])
    await client.verify(provider.sign(**shape.claims), rules, now, "one")
    provider.keys = {"first": rsa_key(1)}
    seconds[0] += 31
    assert (await client.verify(provider.sign(**shape.claims), rules, now, "one")).email == EMAIL


def test_guide_names_each_provider_with_its_issuer() -> None:
    rows = [line.split("|") for line in GUIDE.read_text().splitlines() if line.startswith("|")]
    issuers = {row[1].strip(): row[2].strip().strip("`") for row in rows if "https://" in row[2]}
    assert issuers == {shape.name: shape.issuer for shape in SHAPES}

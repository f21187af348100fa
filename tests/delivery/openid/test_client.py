"""The client of OpenID providers: cached keys, their rotation, outages, and bounds."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest

from tests.delivery.webhooks.test_host_lookup import NameServer, give_up, names
from tests.support.openid import (
    AUDIENCE,
    ChosenProvider,
    chosen_provider,
    public_jwk,
    real_provider,
    rsa_key,
)
from wattgate.app.observability.logs import MAX_RECORDS_OF_ADDRESS, RepeatedRecordFilter
from wattgate.delivery.egress import PUBLIC_HTTPS_ONLY, EgressPolicy
from wattgate.delivery.openid.client import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    MAX_OWNER_QUESTIONS,
    MAX_PROVIDERS,
    MAX_QUESTIONS,
    MAX_WAITING,
    MIN_REFRESH_SECONDS,
    OpenIdClient,
    ProviderClient,
)
from wattgate.delivery.openid.keys import MAX_CANDIDATES, MAX_KEYS, find_keys, parse_keys
from wattgate.delivery.openid.tokens import ExternalToken, RejectedToken, TokenRules
from wattgate.delivery.outbound_http import MAX_OWNER_LOOKUPS, HostResolver, OutboundHttpClient
from wattgate.enums import TokenCheck
from wattgate.errors import Unavailable

__all__ = ["names"]

LOOPBACK = EgressPolicy((ip_network("127.0.0.0/8"),), allow_http=True)


class Seconds:
    """A monotonic clock that advances only when a test sets it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def provider() -> AsyncIterator[ChosenProvider]:
    async with chosen_provider() as served:
        yield served


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def client(seconds: Seconds) -> OpenIdClient:
    return OpenIdClient(LOOPBACK, seconds)


async def verify(client: OpenIdClient, issuer: str, token: str, owner: str = "application") -> ExternalToken:
    rules = TokenRules(issuer, (AUDIENCE,), ("RS256",), timedelta(seconds=60))
    return await client.verify(token, rules, datetime.now(UTC), owner)


async def test_keys_are_fetched_once_for_concurrent_and_later_tokens(
    provider: ChosenProvider, client: OpenIdClient, seconds: Seconds
) -> None:
    tokens = [provider.sign() for _ in range(20)]
    await asyncio.gather(*(verify(client, provider.issuer, token) for token in tokens))
    seconds.now += FRESH_SECONDS - 1
    await verify(client, provider.issuer, provider.sign())
    assert provider.requests == {"/.well-known/openid-configuration": 1, "/keys": 1}
    seconds.now += 2
    await verify(client, provider.issuer, provider.sign())
    assert provider.requests["/keys"] == 2


async def test_new_key_is_fetched_and_old_one_ends(
    provider: ChosenProvider, client: OpenIdClient, seconds: Seconds
) -> None:
    old = provider.sign()
    await verify(client, provider.issuer, old)
    provider.keys = {"second": rsa_key(1)}
    with pytest.raises(RejectedToken, match="not signed by a key"):
        await verify(client, provider.issuer, provider.sign("second"))
    await verify(client, provider.issuer, old)
    seconds.now += MIN_REFRESH_SECONDS
    await verify(client, provider.issuer, provider.sign("second"))
    with pytest.raises(RejectedToken, match="not signed by a key"):
        await verify(client, provider.issuer, old)


async def test_new_key_under_the_same_id_is_fetched_and_forgeries_cause_few_requests(
    provider: ChosenProvider, client: OpenIdClient, seconds: Seconds
) -> None:
    await verify(client, provider.issuer, provider.sign())
    provider.keys = {"first": rsa_key(1)}
    with pytest.raises(RejectedToken, match="not signed by a key"):  # too early to fetch them again
        await verify(client, provider.issuer, provider.sign())
    seconds.now += MIN_REFRESH_SECONDS
    await verify(client, provider.issuer, provider.sign())
    for _ in range(3):
        seconds.now += MIN_REFRESH_SECONDS
        for _ in range(10):
            with pytest.raises(RejectedToken, match="not signed by a key"):
                await verify(client, provider.issuer, provider.sign(key=rsa_key(0)))
    assert provider.requests["/keys"] == 2 + 3


async def test_keys_without_an_id_are_tried_and_replaced(client: OpenIdClient, seconds: Seconds) -> None:
    async with chosen_provider() as provider:
        provider.keys = {"": rsa_key(0)}
        await verify(client, provider.issuer, provider.sign("named", key=rsa_key(0)))
        provider.keys = {"": rsa_key(1)}
        seconds.now += MIN_REFRESH_SECONDS
        await verify(client, provider.issuer, provider.sign(None, key=rsa_key(1)))
    many = parse_keys([{**public_jwk("", rsa_key(0)), "alg": "RS256"}] * (MAX_KEYS + 5))
    assert (len(many), len(find_keys(many, None, "RS256"))) == (MAX_KEYS, MAX_CANDIDATES)


async def test_unknown_keys_cause_few_requests(
    provider: ChosenProvider, client: OpenIdClient, seconds: Seconds
) -> None:
    await verify(client, provider.issuer, provider.sign())
    for _ in range(3):
        seconds.now += MIN_REFRESH_SECONDS
        for number in range(10):
            with pytest.raises(RejectedToken):
                await verify(client, provider.issuer, provider.sign(f"unknown-{number}", key=rsa_key(1)))
    assert provider.requests["/keys"] == 4


async def test_cached_keys_serve_an_outage_for_a_bounded_time(
    provider: ChosenProvider, client: OpenIdClient, seconds: Seconds
) -> None:
    token = provider.sign()
    await verify(client, provider.issuer, token)
    provider.status = 503
    seconds.now += KEPT_SECONDS - 1
    await verify(client, provider.issuer, token)
    with pytest.raises(Unavailable) as unknown_key:  # the provider may have it by now
        await verify(client, provider.issuer, provider.sign("second", key=rsa_key(1)))
    assert unknown_key.value.retry_after == 30
    seconds.now += 2
    with pytest.raises(Unavailable):
        await verify(client, provider.issuer, token)
    provider.status = 200
    with pytest.raises(Unavailable):  # not asked again at once
        await verify(client, provider.issuer, token)
    seconds.now += MIN_REFRESH_SECONDS
    await verify(client, provider.issuer, token)


@pytest.mark.parametrize("host", ["works.test", "hang.test"])
async def test_lookups_of_one_application_leave_the_provider_to_others(
    provider: ChosenProvider, client: OpenIdClient, seconds: Seconds, names: NameServer, host: str
) -> None:
    """Two applications have a directory of one provider. The first has no place for look-ups, or cancelled its last."""
    provider.issuer = provider.issuer.replace("127.0.0.1", host)
    resolver = HostResolver(names.look_up, max_place_seconds=0.01)
    vars(client)["_http"] = OutboundHttpClient(LOOPBACK, resolve=resolver.resolve, timeout_seconds=60)
    if host == "works.test":
        for number in range(MAX_OWNER_LOOKUPS):
            await give_up(names, resolver, f"hang{number}.test", "hostile")
    else:
        await give_up(names, resolver, host, "hostile")
        names.released.set()
    with pytest.raises(Unavailable):
        await verify(client, provider.issuer, provider.sign(), "hostile")
    await verify(client, provider.issuer, provider.sign())
    seconds.now += FRESH_SECONDS
    await verify(client, provider.issuer, provider.sign(), "hostile")  # by the keys in memory
    provider.keys = {"second": rsa_key(1)}
    await verify(client, provider.issuer, provider.sign("second"))


async def test_restarted_real_provider_has_new_keys(client: OpenIdClient, seconds: Seconds) -> None:
    with real_provider() as real:
        old = (await real.log_in("ada"))["id_token"]
        await verify(client, real.issuer, old)
        real.stop()
        await verify(client, real.issuer, old)
        real.start()
        seconds.now += MIN_REFRESH_SECONDS
        new = (await real.log_in("ada"))["id_token"]
        assert (await verify(client, real.issuer, new)).subject == "ada"
        with pytest.raises(RejectedToken):
            await verify(client, real.issuer, old)


async def test_addresses_that_the_policy_forbids_are_not_called(provider: ChosenProvider) -> None:
    token = provider.sign()
    with pytest.raises(Unavailable):
        await verify(OpenIdClient(PUBLIC_HTTPS_ONLY), provider.issuer, token)
    provider.metadata = {"jwks_uri": "http://10.0.0.1/keys"}
    with pytest.raises(Unavailable):
        await verify(OpenIdClient(LOOPBACK), provider.issuer, token)
    assert provider.requests == {"/.well-known/openid-configuration": 1}


async def test_providers_in_memory_are_bounded(client: OpenIdClient) -> None:
    for number in range(MAX_PROVIDERS + 5):
        with pytest.raises(Unavailable):
            await client._providers.get(f"https://10.0.0.1/{number}", "application")
    assert len(client._providers._entries) == MAX_PROVIDERS


async def test_callers_that_wait_for_keys_are_bounded(provider: ChosenProvider, client: OpenIdClient) -> None:
    tokens = [provider.sign() for _ in range(2)] * ((MAX_WAITING + 10) // 2)
    outcomes = await asyncio.gather(
        *(verify(client, provider.issuer, token) for token in tokens), return_exceptions=True
    )
    assert sum(isinstance(outcome, Unavailable) for outcome in outcomes) == 10


async def test_questions_about_tokens_are_bounded_for_all_and_for_one_application(
    provider: ChosenProvider, client: OpenIdClient
) -> None:
    how = ProviderClient(TokenCheck.INTROSPECTION, "gateway", "hush")
    assert await client.confirm("token", "ada", provider.issuer, how, "other")  # the provider is known from now on
    owners = ["slow"] * (MAX_QUESTIONS + 5) + ["other"] * 2
    questions = [client.confirm("token", "ada", provider.issuer, how, owner) for owner in owners]
    outcomes = await asyncio.gather(*questions, return_exceptions=True)
    assert outcomes[:MAX_QUESTIONS].count(True) == MAX_OWNER_QUESTIONS
    assert outcomes[-2:] == [True, True]
    assert sum(isinstance(outcome, Unavailable) for outcome in outcomes) == len(owners) - MAX_OWNER_QUESTIONS - 2
    assert client._questions.owner_count == 0


async def test_missing_endpoint_is_a_fault_of_the_directory(
    provider: ChosenProvider, client: OpenIdClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Any caller can repeat its record, so that the log counts further ones of the provider."""
    how = ProviderClient(TokenCheck.USERINFO)
    with pytest.raises(Unavailable):
        await client.confirm("token", "ada", provider.issuer, how, "application")
    assert "cannot confirm a token" in caplog.messages[-1]
    counting = RepeatedRecordFilter(print)
    assert sum(counting.filter(caplog.records[-1]) for _ in range(100)) == MAX_RECORDS_OF_ADDRESS

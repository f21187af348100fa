"""A token is revoked at one gateway, and those who watch with it at all of them are told."""

import asyncio

import httpx

from tests.faults.street import Street, scene

FORBIDDEN = 4403
REVOKED_SECONDS = 5
"""What is promised: after so long nobody watches any more with a token that is revoked."""


async def test_a_revoked_token_ends_its_sockets_at_every_gateway_and_no_others(street: Street) -> None:
    async with scene(street) as play:
        tokens = list(dict.fromkeys(one.credentials["token"] for one in play.displays))
        for number, token in enumerate(tokens[:-1]):
            await play.meters.more(1)
            await play.all_live()
            holders = [one for one in play.displays if one.credentials["token"] == token]
            assert {one.gateway for one in holders} == {0, 1}
            url = street.gateways[number % 2].url
            async with httpx.AsyncClient() as http:
                answer = await http.delete(f"{url}/api/v0-1/auth/deleteToken", headers={"token": token})
            assert answer.status_code == 200, answer.text
            async with asyncio.timeout(REVOKED_SECONDS):
                await play.until(lambda holders=holders: all(one.away for one in holders), "they are told")  # type: ignore[misc]
            for one in play.displays:
                assert one.codes == [FORBIDDEN] * (one.credentials["token"] in tokens[: number + 1]), one.name
        found = await play.end("tokens are revoked at either gateway")
        assert found.told_of_loss == 0

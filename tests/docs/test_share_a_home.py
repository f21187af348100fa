"""The GraphQL documents of docs/how-to/share-a-home.md work unchanged, in their order."""

import re
from pathlib import Path
from typing import Any

from tests.support.house import House
from tests.support.markdown import code_blocks
from tests.support.residents import resident

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "share-a-home.md").read_text()
INVITE, ACCEPT, SHARED, READ, LIST, REMOVE, LEAVE = code_blocks(PAGE, "graphql")


async def test_documents_of_the_page_share_a_home(served: House) -> None:
    owner, sister = await resident(served.one), await resident(served.one)
    mine, hers = owner.headers["account"], sister.headers["account"]
    known: dict[str, Any] = {"homeId": await owner.add_home(await owner.add_resource()), "name": "Grace"}
    inside = {**hers, "sharedHomeId": known["homeId"]}

    async def send(document: str, headers: dict[str, str]) -> Any:
        variables = {name: known[name] for name in re.findall(r"\$(\w+): ", document)}
        answer = await served.graphql(document, headers, **variables)
        assert "errors" not in answer, answer
        (result,) = answer["data"].values()
        return result

    async def share() -> None:
        invited = await send(INVITE, mine)
        known.update(code=invited["code"], memberId=invited["member"]["memberId"])
        assert (await send(ACCEPT, hers))["homeId"] == known["homeId"]

    await share()
    (shared,) = (await send(SHARED, hers))["sharedHomes"]
    assert shared["homeId"] == known["homeId"]
    assert (await send(READ, inside))["members"] == [{"name": "Grace", "state": "JOINED"}]
    assert (await send(LIST, mine))["members"][0]["memberUserId"] == sister.user_id
    assert await send(REMOVE, mine) == {"state": "ENDED", "endReason": "REMOVED"}
    await share()
    assert await send(LEAVE, hers) == {"homeId": known["homeId"]}
    assert (await send(SHARED, hers))["sharedHomes"] == []

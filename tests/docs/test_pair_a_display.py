"""The GraphQL documents of docs/how-to/pair-a-display.md work unchanged.

They are sent in the order of a pairing: the user answers the code before the display takes its credential.
"""

import re
from pathlib import Path
from typing import Any

from tests.support.house import House
from tests.support.markdown import code_blocks
from tests.support.residents import resident

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "pair-a-display.md").read_text()
FIRST_FIELD = re.compile(r"\b(\w+)(?:\(| \{ (?:__typename|name|pairedDisplays))")
DOCUMENTS = {FIRST_FIELD.findall(document.partition("{")[2])[0]: document for document in code_blocks(PAGE, "graphql")}
"""The documents by their first field."""


async def test_documents_of_the_page_pair_a_display(served: House) -> None:
    owner, unused = await resident(served.one), set(DOCUMENTS)
    mine, anonymous = owner.headers["account"], {"applicationId": owner.application_id}
    known: dict[str, Any] = {"name": "Kitchen", "homeId": await owner.add_home(await owner.add_resource())}

    async def send(field: str, headers: dict[str, str]) -> Any:
        unused.discard(field)
        document = DOCUMENTS[field]
        variables = {name: known[name] for name in re.findall(r"\$(\w+): ", document) if name in known}
        answer = await served.graphql(document, headers, **variables)
        assert "errors" not in answer, answer
        (result,) = answer["data"].values()
        return result

    async def pair() -> dict[str, str]:
        started = await send("startDisplayPairing", anonymous)
        known.update(deviceCode=started["deviceCode"], userCode=started["userCode"])
        assert (await send("checkDisplayPairing", mine))["name"] == "Kitchen"
        assert (await send("approveDisplayPairing", mine))["name"] == "Kitchen"
        claimed = await send("claimDisplayPairing", anonymous)
        assert claimed["state"] == "APPROVED"
        known["displayId"] = claimed["display"]["displayId"]
        return {"token": claimed["token"]}

    async def code_of_use(headers: dict[str, str]) -> str:
        answer = await served.graphql(DOCUMENTS["ownDisplay"], headers)
        return str(answer["errors"][0]["extensions"]["code"])

    first = await pair()
    assert await send("endOwnDisplay", first) == {"__typename": "PairedDisplay"}
    assert await code_of_use(first) == "UNAUTHENTICATED"
    display = await pair()
    assert (await send("ownDisplay", display))["home"]["homeId"] == known["homeId"]
    assert (await send("viewer", mine))["pairedDisplays"][0]["displayId"] == known["displayId"]
    known["name"] = "Hall"
    assert (await send("renamePairedDisplay", mine))["name"] == "Hall"
    assert await send("revokePairedDisplay", mine) == {"__typename": "PairedDisplay"}
    assert await code_of_use(display) == "UNAUTHENTICATED"
    assert unused == set()

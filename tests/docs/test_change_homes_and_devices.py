"""The GraphQL documents of docs/how-to/change-homes-and-devices.md work unchanged, in their order."""

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.support.house import House
from tests.support.metering import metered
from tests.support.residents import resident

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "change-homes-and-devices.md").read_text()
DOCUMENTS = re.findall(r"^```graphql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def test_documents_of_the_page_change_homes_and_devices(served: House) -> None:
    owner, next_owner = await resident(served.one), await resident(served.one)
    joining, moving = await owner.add_resource(), await owner.add_resource()
    known: dict[str, Any] = {
        "homeId": await owner.add_home(),
        "resourceId": joining,
        "hardwareId": uuid4().hex[:12],
        "deviceTypeId": served.one.ids["device_type"],
        "userId": next_owner.user_id,
        "meterPointNumber": (await metered(owner)).mpxn,
    }
    callers = ["account", "account", "application", "account", "application", "application"]
    answers = []
    for document, caller in zip(DOCUMENTS, callers, strict=True):
        variables = {name: known[name] for name in re.findall(r"\$(\w+): \w+!", document)}
        answer = await served.graphql(document, owner.headers[caller], **variables)
        assert "errors" not in answer, answer
        (result,) = answer["data"].values()
        answers.append(result)
        known |= {"code": result["code"]} if "code" in result else {}
        known["resourceId"] = moving if len(answers) == 2 else known["resourceId"]
    joined, closed, _, added, point, moved = answers
    assert [resource["resourceId"] for resource in joined["resources"]] == [joining]
    assert (closed["active"], added["proof"], moved["ownerId"]) == (False, "CODE", next_owner.user_id)
    assert (point["formerUserId"], len(point["resources"])) == (owner.user_id, 1)

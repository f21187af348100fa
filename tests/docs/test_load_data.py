"""The GraphQL documents and the NDJSON line of docs/how-to/load-data.md work unchanged."""

import json
import re
from pathlib import Path

from tests.support.house import House

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "load-data.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def test_types_resources_and_homes_are_created_and_a_line_is_recorded(served: House) -> None:
    ids: dict[str, str] = {}
    callers = ["administrator", "administrator", "account", "account"]
    for document, caller in zip(blocks("graphql"), callers, strict=True):
        variables = {name: ids[name] for name in re.findall(r"\$(\w+): ID!", document)}
        answer = await served.graphql(document, served.one.headers[caller], **variables)
        assert "errors" not in answer, answer
        ids |= next(iter(answer["data"].values()))
    assert set(ids) == {"resourceTypeId", "veTypeId", "resourceId", "veId"}
    (shown,) = blocks("json")
    line = {**json.loads(shown), "resourceId": ids["resourceId"]}
    headers = {**served.one.headers["account"], "Content-Type": "application/x-ndjson"}
    recorded = await served.call("POST", "/readings", headers, content=json.dumps(line))
    assert recorded.json() == {"status": "OK", "recorded": 1, "refused": 0}

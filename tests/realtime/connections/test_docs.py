"""What docs/reference/realtime.md says is so: its tables are those of the code, and its conversations take place."""

import ast
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.realtime.connections.conftest import OpenHouse
from tests.support.live import LiveHouse
from tests.support.socket import Socket, socket
from wattgate.realtime.connections import limits
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.protocol import CLOSE_CODE_MEANINGS, TABLE, Action, CloseCode

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "realtime.md").read_text()
UNITS = {"_per_second": "{:g} a second", "_seconds": "{:g} s", "_bytes": "{:,} bytes", "": "{:,}"}
"""How the values of limits are written, by how their names end."""


def table(*rows: Iterable[str]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *body])


def states() -> str:
    message_types = [*next(iter(TABLE.values()))]
    tags = [str(message_type.__struct_config__.tag) for message_type in message_types]
    return table(
        ["state", *(f"`{tag}`" for tag in tags)],
        *(
            [state.value, *(effect(row[message_type]) for message_type in message_types)]
            for state, row in TABLE.items()
        ),
    )


def effect(action: Action | CloseCode) -> str:
    return f"close with {action.value}" if isinstance(action, CloseCode) else action.value


def codes() -> str:
    return table(
        ["code", "meaning", "what to do"], *([str(code.value), *CLOSE_CODE_MEANINGS[code]] for code in CloseCode)
    )


def bounds() -> str:
    """What the limits are, with the first sentence below each of them in the source."""
    (body,) = [node.body for node in ast.parse(inspect.getsource(limits)).body if isinstance(node, ast.ClassDef)]
    descriptions = {
        assignment.target.id: ast.literal_eval(docstring.value)
        for assignment, docstring in pairwise(body)
        if isinstance(assignment, ast.AnnAssign)
        and isinstance(assignment.target, ast.Name)
        and isinstance(docstring, ast.Expr)
    }
    return table(
        ["limit", "what it limits"],
        *([value(limit.name), descriptions[limit.name]] for limit in fields(ConnectionLimits)),
    )


def value(name: str) -> str:
    unit = next(unit for ending, unit in UNITS.items() if name.endswith(ending))
    return unit.format(getattr(ConnectionLimits(), name))


@pytest.mark.parametrize("build_table", [states, codes, bounds])
def test_tables_of_the_page_match_the_code(build_table: Callable[[], str]) -> None:
    name = {"bounds": "limits"}.get(build_table.__name__, build_table.__name__)
    match = re.search(rf"^<!-- {name} -->\n(.*?)\n?<!-- end of {name} -->$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    assert match[1] == build_table(), "put the table that was expected between the marks"


CONVERSATIONS = re.findall(r"^```transcript\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


class Conversation:
    """A conversation of the page, with a gateway."""

    def __init__(self, house: LiveHouse, client: Socket, placeholders: dict[str, str]) -> None:
        self.house = house
        self.client = client
        self.placeholders = placeholders

    async def play(self, lines: Iterable[str]) -> None:
        actions: dict[str, Callable[[], Awaitable[None]]] = {
            "a reading of 230 W is recorded": self.record,
            "a connection whose token expires": self.expire,
        }
        for line in lines:
            side, text = line[:2], self.fill_placeholders(line[2:])
            if side == "> ":
                await self.client.say(**json.loads(text))
            elif side == "< ":
                assert_matches(await self.hear(), json.loads(text))
            else:
                await actions[text]()

    async def hear(self) -> Any:
        while (message := await self.client.hear(pings=True)) == {"type": "ping"}:
            continue
        return message

    async def record(self) -> None:
        resource_id = self.placeholders["RESOURCE"]
        readings = [{"at": self.house.clock.utc().isoformat(), "value": 230}]
        body = {"field": "POWER", "readings": readings}
        caller = self.house.one.headers["account"]
        response = await self.house.call("POST", f"/resource/{resource_id}/readings", caller, json=body)
        assert response.status_code == 200, response.text

    async def expire(self) -> None:
        await self.client.init(token=await self.house.dying_token(seconds=60))
        self.house.pass_time(61)

    def fill_placeholders(self, text: str) -> str:
        for placeholder, value in self.placeholders.items():
            text = text.replace(placeholder, value)
        return text


def assert_matches(received: Any, expected: Any) -> None:
    """What was heard is what the page says, where that does not leave it open."""
    if isinstance(expected, dict):
        assert isinstance(received, dict)
        assert received.keys() == expected.keys()
        for name in expected:
            assert_matches(received[name], expected[name])
    else:
        assert expected == "..." or received == expected


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=["whole", "expiry"])
async def test_conversations_of_the_page_match_the_gateway(open_house: OpenHouse, conversation: str) -> None:
    async with open_house() as house, socket(house.url) as client:
        token = await house.one.add_token()
        placeholders = {"TOKEN": token, "RESOURCE": await house.one.add_resource()}
        await Conversation(house, client, placeholders).play(conversation.splitlines())
        assert await client.heard() == []

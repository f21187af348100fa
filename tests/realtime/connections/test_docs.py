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
    kinds = [*next(iter(TABLE.values()))]
    tags = [str(kind.__struct_config__.tag) for kind in kinds]
    return table(
        ["state", *(f"`{tag}`" for tag in tags)],
        *([state.value, *(effect(row[kind]) for kind in kinds)] for state, row in TABLE.items()),
    )


def effect(of: Action | CloseCode) -> str:
    return f"close with {of.value}" if isinstance(of, CloseCode) else of.value


def codes() -> str:
    return table(
        ["code", "meaning", "what to do"], *([str(code.value), *CLOSE_CODE_MEANINGS[code]] for code in CloseCode)
    )


def bounds() -> str:
    """What the limits are, with the first sentence below each of them in the source."""
    (body,) = [node.body for node in ast.parse(inspect.getsource(limits)).body if isinstance(node, ast.ClassDef)]
    said = {
        above.target.id: ast.literal_eval(below.value)
        for above, below in pairwise(body)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name) and isinstance(below, ast.Expr)
    }
    return table(["limit", "what it limits"], *([value(one.name), said[one.name]] for one in fields(ConnectionLimits)))


def value(name: str) -> str:
    unit = next(unit for ending, unit in UNITS.items() if name.endswith(ending))
    return unit.format(getattr(ConnectionLimits(), name))


@pytest.mark.parametrize("made", [states, codes, bounds])
def test_the_pages_tables_are_those_of_the_code(made: Callable[[], str]) -> None:
    name = {"bounds": "limits"}.get(made.__name__, made.__name__)
    found = re.search(rf"^<!-- {name} -->\n(.*?)\n?<!-- end of {name} -->$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert found[1] == made(), "put the table that was expected between the marks"


CONVERSATIONS = re.findall(r"^```transcript\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


class Play:
    """A conversation of the page, with a gateway."""

    def __init__(self, house: LiveHouse, one: Socket, words: dict[str, str]) -> None:
        self.house = house
        self.one = one
        self.words = words

    async def play(self, lines: Iterable[str]) -> None:
        doings: dict[str, Callable[[], Awaitable[None]]] = {
            "a reading of 230 W is recorded": self.record,
            "a connection whose token expires": self.expire,
        }
        for line in lines:
            side, said = line[:2], self.filled(line[2:])
            if side == "> ":
                await self.one.say(**json.loads(said))
            elif side == "< ":
                assert_like(await self.hear(), json.loads(said))
            else:
                await doings[said]()

    async def hear(self) -> Any:
        while (message := await self.one.hear(pings=True)) == {"type": "ping"}:
            continue
        return message

    async def record(self) -> None:
        resource_id = self.words["RESOURCE"]
        readings = [{"at": self.house.clock.utc().isoformat(), "value": 230}]
        body = {"field": "POWER", "readings": readings}
        caller = self.house.one.headers["account"]
        answer = await self.house.call("POST", f"/resource/{resource_id}/readings", caller, json=body)
        assert answer.status_code == 200, answer.text

    async def expire(self) -> None:
        await self.one.init(token=await self.house.dying_token(seconds=60))
        self.house.pass_time(61)

    def filled(self, said: str) -> str:
        for word, meant in self.words.items():
            said = said.replace(word, meant)
        return said


def assert_like(heard: Any, said: Any) -> None:
    """What was heard is what the page says, where that does not leave it open."""
    if isinstance(said, dict):
        assert isinstance(heard, dict)
        assert heard.keys() == said.keys()
        for name in said:
            assert_like(heard[name], said[name])
    else:
        assert said == "..." or heard == said


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=["whole", "expiry"])
async def test_the_pages_conversations_take_place(open_house: OpenHouse, conversation: str) -> None:
    async with open_house() as house, socket(house.url) as one:
        token = await house.one.add_token()
        words = {"TOKEN": token, "RESOURCE": await house.one.add_resource()}
        await Play(house, one, words).play(conversation.splitlines())
        assert await one.heard() == []

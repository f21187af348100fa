"""The homes that the display page lists: those of a user, of all users for an administrator, of a paired display."""

import asyncio
import json
from pathlib import Path
from subprocess import PIPE

from tests.support.house import House
from tests.support.node import Node
from tests.support.residents import resident

GATEWAY = Path(__file__).parents[2] / "wattgate" / "app" / "static" / "shared" / "gateway.js"
PAGE_SIZE = 100
SCRIPT = f"""
import {{ listHomes, listPairedHome }} from {json.dumps(GATEWAY.as_uri())};
const [url, list, token] = process.argv.slice(1);
const send = fetch;
globalThis.fetch = (path, options) => send(new URL(path, url), options);
try {{
  console.log(JSON.stringify(await (list === "paired" ? listPairedHome : listHomes)(token)));
}} catch ({{ code }}) {{
  console.log(JSON.stringify({{ code }}));
}}
"""


async def listed(house: House, node: Node, headers: dict[str, str], kind: str = "own") -> list[str] | str:
    """Return the IDs of the homes that the page lists with the token of these headers, or the code of its error."""
    process = await asyncio.create_subprocess_exec(
        node.executable,
        *("--input-type=module", "--eval", SCRIPT, house.url, kind, headers["token"]),
        stdout=PIPE,
        stderr=PIPE,
    )
    printed, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    answer = json.loads(printed)
    return answer["code"] if isinstance(answer, dict) else [home["homeId"] for home in answer]


async def test_display_page_lists_the_active_homes_that_the_caller_may_see(served: House, node_scripts: Node) -> None:
    user = await resident(served.one)
    homes = [await user.add_home() for _ in range(PAGE_SIZE + 2)]
    await served.call("DELETE", f"/virtualentity/{homes.pop()}", user.headers["account"])
    assert await listed(served, node_scripts, user.headers["account"]) == homes, "in several pages"
    administrator = served.one.headers["administrator"]
    by_rest = [home["veId"] for home in (await served.call("GET", "/virtualentity", administrator)).json()]
    assert set(homes) < set(by_rest)
    assert sorted(await listed(served, node_scripts, administrator)) == sorted(by_rest)
    display = served.one.headers["display"]
    assert await listed(served, node_scripts, display, "paired") == [served.one.ids["virtual_entity"]]
    assert await listed(served, node_scripts, display) == "FORBIDDEN"

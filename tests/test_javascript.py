"""JavaScript modules of the pages: unit tests with `node --test`, a wrong type, and the generated close codes.

`make check` runs tsc and eslint on all modules.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

from tests.support import close_codes, error_codes, node
from wattgate.realtime.connections.protocol import CloseCode
from wattgate.realtime.connections.reconnection import RECONNECTIONS, ReconnectAction

ROOT = Path(__file__).parents[1]
PAGE_FILE = "wattgate/app/static/display/example.js"


@pytest.fixture(scope="module")
def javascript_tools() -> Iterator[node.Node]:
    """Node with tsc and eslint."""
    with node.required_node(ROOT) as running:
        yield running


async def run(javascript_tools: node.Node, *arguments: str | Path, text: str = "") -> str:
    """Run Node in the root of the project with a text as its input. Return what it prints. Fail if it fails."""
    process = await asyncio.create_subprocess_exec(
        javascript_tools.executable, *arguments, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    printed, _ = await process.communicate(text.encode())
    assert process.returncode == 0, printed.decode()
    return printed.decode()


ALONE = {"format.test.mjs", "ide-dry-run.test.mjs", "timer-queue.test.mjs"}
"""Files with a process of their own, because they replace timers or need modules that nothing has used before."""


async def test_unit_tests_pass(javascript_tools: node.Node) -> None:
    """The other files share a process, because a start of Node costs more than the tests of a file."""
    files = set((ROOT / "tests" / "javascript").glob("*.test.mjs"))
    alone = {file for file in files if file.name in ALONE}
    assert len(alone) == len(ALONE)
    assert files > alone
    for isolation, chosen in (("none", files - alone), ("process", alone)):
        options = ("--test", f"--test-isolation={isolation}", "--test-reporter=tap")
        printed = await run(javascript_tools, *options, *sorted(chosen))
        assert "\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n" in printed


async def test_type_check_finds_a_wrong_type(javascript_tools: node.Node, tmp_path: Path) -> None:
    """And what the oldest browsers of the pages lack: a function of ES2024, and one of ES2025."""
    page = ROOT / "wattgate" / "app" / "static" / "display" / "format.js"
    lines = [f'import {{ formatAge }} from "{page}";', 'formatAge("old");', "Map.groupBy([1], String);"]
    (tmp_path / "wrong.js").write_text("\n".join([*lines, "new Set([1]).union(new Set([2]));"]))
    (tmp_path / "tsconfig.json").write_text(f'{{"extends": "{ROOT / "tsconfig.json"}", "include": ["wrong.js"]}}')
    with pytest.raises(AssertionError, match=r"(?s)TS2345.*groupBy.*union"):
        await run(
            javascript_tools,
            javascript_tools.packages / "typescript" / "bin" / "tsc",
            "--project",
            tmp_path / "tsconfig.json",
        )


async def test_eslint_finds_syntax_that_the_oldest_browsers_lack(javascript_tools: node.Node) -> None:
    config = javascript_tools.folder / "eslint.config.mjs"  # a copy beside its packages: `make test` installs no others
    eslint = (javascript_tools.packages / "eslint" / "bin" / "eslint.js", "--config", config)
    for code in (
        "export const set = /[\\p{L}--a]/v;",
        'import a from "./a.json" with { type: "json" };\nexport { a };',
    ):
        with pytest.raises(AssertionError, match="Parsing error"):
            await run(javascript_tools, *eslint, "--stdin", "--stdin-filename", PAGE_FILE, text=code)
    with pytest.raises(AssertionError, match="do not have it"):
        await run(
            javascript_tools,
            *eslint,
            "--stdin",
            "--stdin-filename",
            PAGE_FILE,
            text='export const a = URL.canParse("b");',
        )


def test_close_code_table_is_up_to_date() -> None:
    assert error_codes.FILE.read_text() == error_codes.javascript(), "run `make generate`"
    assert close_codes.FILE.read_text() == close_codes.javascript(), "run `make generate`"


def test_each_close_code_has_an_action_and_only_waiting_has_a_delay() -> None:
    assert set(RECONNECTIONS) == set(CloseCode)
    for reconnection in RECONNECTIONS.values():
        waits = reconnection.minimum_seconds + reconnection.spread_seconds > 0
        assert waits == (reconnection.action is ReconnectAction.WAIT)

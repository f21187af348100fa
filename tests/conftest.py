"""What every test may ask for: databases, a served gateway on each, a demonstration, a browser."""

import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests.support import chance, node
from tests.support.demonstration import demonstration
from tests.support.house import House, Tenant, house, tenant_on
from tests.support.schema import pattern_on
from tests.support.servers import Databases, database_on, postgresql, serving
from tests.support.timed import NOW, Clock, Timed
from wattgate.app.demo import live
from wattgate.app.server.factory import create_app

for name in [name for name in os.environ if name.startswith("WATTGATE_") and not name.startswith("WATTGATE_TEST_")]:
    del os.environ[name]  # the tests choose their own settings

chance.load_profile()

ENGINES = ["sqlite", "postgresql"]
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"]


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later searches for garbage: it is much, and all of it is used."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    # a folder of its own: pytest clears its temporary folders while other runs may still use them
    with tempfile.TemporaryDirectory(prefix="wattgate-") as folder, postgresql(Path(folder)) as url:
        yield url


@pytest.fixture(scope="session")
async def postgresql_pattern(postgresql_url: str) -> AsyncIterator[str]:
    """The name of a database at this version's schema, to be copied."""
    async with pattern_on(postgresql_url) as name:
        yield name


@pytest.fixture(scope="session", params=ENGINES)
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """Makes databases that are to be brought up, on each engine; those of PostgreSQL have this version's schema."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql_url")
        return partial(database_on, server, request.getfixturevalue("postgresql_pattern"))

    @asynccontextmanager
    async def on_sqlite() -> AsyncIterator[str]:
        yield f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'test.sqlite3'}"

    return on_sqlite


@pytest.fixture
async def database_url(databases: Databases) -> AsyncIterator[str]:
    """A database that is to be brought up, on each engine."""
    async with databases() as url:
        yield url


@pytest.fixture(params=ENGINES)
async def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """An empty database on each engine, for migrations."""
    if request.param == "postgresql":
        async with database_on(request.getfixturevalue("postgresql_url")) as url:
            yield url
    else:
        yield f"sqlite:///{tmp_path / 'empty.sqlite3'}"


@pytest.fixture(scope="module")
async def settled(databases: Databases) -> AsyncIterator[Tenant]:
    """A tenant on a database of each engine that no server works on."""
    async with databases() as url, tenant_on(url) as made:
        yield made


@pytest.fixture(scope="session")
async def served(databases: Databases) -> AsyncIterator[House]:
    """A served gateway with two tenants on each engine, shared by the tests of a run: leave their records be."""
    async with databases() as url, house(url) as made:
        yield made


@pytest.fixture(scope="session")
async def timed_for_session(databases: Databases) -> AsyncIterator[Timed]:
    """A served gateway on each engine with a clock that tests set. Tests use it through `timed`."""
    clock = Clock()
    async with databases() as url, house(url, clock=clock) as made:
        yield Timed(made, clock)


@pytest.fixture
def timed(timed_for_session: Timed) -> Timed:
    """A served gateway on each engine whose time a test sets, forwards only. Each test begins at the same time."""
    timed_for_session.clock.now = NOW
    return timed_for_session


@pytest.fixture(scope="session")
async def demo_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The base URL of a demonstration with a fortnight of history, whose meters send power every few seconds."""
    settings, _ = await demonstration(tmp_path_factory.mktemp("demo"), timedelta(days=14))
    async with serving(create_app(settings, background=[live.run_meters])) as url:
        yield url


@pytest.fixture(scope="session")
def node_scripts() -> Iterator[node.Node]:
    """Node with the scripts of tests/node; without it the test is skipped, unless WATTGATE_TEST_NODE=required."""
    try:
        with node.node(node.SCRIPTS) as made:
            yield made
    except node.NoNode as missing:
        if os.environ.get("WATTGATE_TEST_NODE") == "required":
            pytest.fail(f"{missing}, and WATTGATE_TEST_NODE requires it")
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real Chromium; without one the test is skipped, unless WATTGATE_TEST_BROWSER=required."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        if os.environ.get("WATTGATE_TEST_BROWSER") == "required":
            pytest.fail("no Chromium on this machine, and WATTGATE_TEST_BROWSER requires one")
        pytest.skip("no Chromium on this machine")
    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable, args=flags)
        yield chromium
        await chromium.close()

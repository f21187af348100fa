"""Fixtures of all tests: databases, a served gateway on each, the demonstration, Redis, Node and a browser."""

import gc
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import trustme
from playwright.async_api import Browser, expect

from tests.support import chance, chromium, node, passwords, short_form, speed
from tests.support.demonstration import demonstration
from tests.support.encryption import TEST_KEYS
from tests.support.engines import ENGINES, other_turns, parametrize_databases
from tests.support.held_connections import HeldConnections, watching
from tests.support.house import House, Tenant, house, tenant_on
from tests.support.redis_server import RedisServer, redis_server
from tests.support.schema import pattern_on
from tests.support.servers import Databases, database_on, postgresql, serving
from tests.support.shared_records import changes_of, stored_records
from tests.support.stalls import StallRecorder, recording
from tests.support.timed import NOW, Clock, Timed
from wattgate.app.demo import live
from wattgate.app.demo.demo_settings import describe_demonstration
from wattgate.app.server.edge.serving import GARBAGE_COLLECTION_THRESHOLDS
from wattgate.app.server.factory import create_app

for name in [name for name in os.environ if name.startswith("WATTGATE_") and not name.startswith("WATTGATE_TEST_")]:
    del os.environ[name]  # the tests choose their own settings

os.environ["WATTGATE_SECRET_KEYS"] = TEST_KEYS  # PostgreSQL needs a key, and child processes inherit this one

# Clients and gateways of the tests trust no public authority, and reading 140 certificates takes 27 ms for each.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "data" / "empty_authority.pem")

os.environ["COLUMNS"] = "200"  # commands wrap no line, also those in forked processes

chance.load_profile()
passwords.hash_at_lowest_cost()

PAGE_TIMEOUT_MS = 20_000
"""Maximum wait for a state of a page, in milliseconds. The default of Playwright is too short for a busy machine."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_databases(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    left_out = other_turns(items)
    items[:] = [item for item in items if item.nodeid not in left_out]
    speed.mark_slow(items)  # before pytest applies `-m "not slow"`
    config.stash[short_form.COLLECTED] = list(items)
    chromium.look_for_it_first(items)
    yield
    if short_form.is_short():
        short_form.deselect_all_others(config, items)
    if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
        speed.start_with_slow_modules(items, int(workers))  # after pytest-randomly


def pytest_collection_finish() -> None:
    """Exclude imported modules and collected tests from garbage collection: they are many objects, and all in use."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_COLLECTION_THRESHOLDS)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Collect the garbage of the last tests. pytest does so ten times at its end, and finds few objects then."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def stalls_of_session() -> Iterator[StallRecorder]:
    """The stalls of all requests to gateways of this process."""
    with recording(StallRecorder()) as recorder:
        yield recorder


@pytest.fixture(autouse=True)
def no_request_stalls_the_loop(request: pytest.FixtureRequest, stalls_of_session: StallRecorder) -> Iterator[None]:
    """Fail a test whose requests hold up the event loop for more than 100 ms of processor time.

    The marker `stalls` names a test in which that is known, and why.
    """
    stalls_of_session.stalls.clear()
    yield
    if request.node.get_closest_marker("stalls") is None:
        assert [str(stall) for stall in stalls_of_session.stalls] == []


@pytest.fixture(scope="session", autouse=True)
def held_connections_of_session() -> Iterator[HeldConnections]:
    """The faults of all tasks of this process that wait while they hold a connection."""
    with watching(HeldConnections()) as held:
        yield held


@pytest.fixture(autouse=True)
def nobody_waits_with_a_connection(held_connections_of_session: HeldConnections) -> Iterator[None]:
    """Fail a test during which a task waits for something else than the database while it holds a connection."""
    held_connections_of_session.faults.clear()
    yield
    assert list(held_connections_of_session.faults) == []


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    # not a folder of pytest, which deletes its temporary folders while other runs may still use them
    with tempfile.TemporaryDirectory(prefix="wattgate-") as folder, postgresql(Path(folder), is_durable=False) as url:
        yield url


@pytest.fixture(scope="session")
async def postgresql_template(postgresql_url: str) -> AsyncIterator[str]:
    """The name of a database with the schema of this version, which tests copy."""
    async with pattern_on(postgresql_url) as name:
        yield name


@pytest.fixture(scope="session")
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """A factory of databases on an engine, or on each one: see tests/support/engines.py.

    PostgreSQL databases already have the schema of this version. A SQLite database is a new file without tables.
    """
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql_url")
        return partial(database_on, server, request.getfixturevalue("postgresql_template"))

    @asynccontextmanager
    async def on_sqlite() -> AsyncIterator[str]:
        yield f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'test.sqlite3'}"

    return on_sqlite


@pytest.fixture
async def database_url(databases: Databases) -> AsyncIterator[str]:
    """The URL of a new database on each engine. See `databases` about its schema."""
    async with databases() as url:
        yield url


@pytest.fixture(params=ENGINES)
async def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """The URL of an empty database on each engine, for tests of migrations."""
    if request.param == "postgresql":
        async with database_on(request.getfixturevalue("postgresql_url")) as url:
            yield url
    else:
        yield f"sqlite:///{tmp_path / 'empty.sqlite3'}"


@pytest.fixture(scope="module")
async def settled(databases: Databases) -> AsyncIterator[Tenant]:
    """A tenant on a database of each engine without a server."""
    async with databases() as url, tenant_on(url) as tenant:
        yield tenant


@pytest.fixture(scope="session")
async def served(databases: Databases) -> AsyncIterator[House]:
    """A served gateway with two tenants on an engine, shared by all tests. Tests must not change their records.

    A change is an error at the end of the run. With WATTGATE_TEST_SHARED_RECORDS=each, it is one of the test itself.
    """
    async with databases() as url, house(url) as house_with_tenants:
        before = await stored_records(house_with_tenants)
        yield house_with_tenants
        assert changes_of(before, await stored_records(house_with_tenants)) == []


if os.environ.get("WATTGATE_TEST_SHARED_RECORDS") == "each":

    @pytest.fixture(autouse=True)
    async def shared_records_stay(request: pytest.FixtureRequest) -> AsyncIterator[None]:
        """Fail a test that changes the records of the tenants that tests share."""
        if "served" not in request.fixturenames:
            yield
            return
        shared: House = request.getfixturevalue("served")
        before = await stored_records(shared)
        yield
        assert changes_of(before, await stored_records(shared)) == []


@pytest.fixture(scope="session")
async def timed_for_session(databases: Databases) -> AsyncIterator[Timed]:
    """A served gateway on each engine with a clock that tests can set. Tests use it through `timed`."""
    clock = Clock()
    async with databases() as url, house(url, clock=clock) as timed_house:
        yield Timed(timed_house, clock)


@pytest.fixture
def timed(timed_for_session: Timed) -> Timed:
    """A served gateway on each engine whose clock a test can set forwards. Each test starts at the same time."""
    timed_for_session.clock.now = NOW
    return timed_for_session


@pytest.fixture(scope="session")
async def demo_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The base URL of a demonstration with 14 days of history. Its meters send power every few seconds."""
    settings, _ = await demonstration(tmp_path_factory.mktemp("demo"), timedelta(days=14), at_midday=True)
    async with serving(
        create_app(settings, demonstration=describe_demonstration(), background=[live.run_meters])
    ) as url:
        yield url


@pytest.fixture(scope="session")
async def redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RedisServer]:
    """A Redis server that all tests share. Tests must not stop it."""
    async with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
async def own_redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RedisServer]:
    """A Redis server of one test, which may stop and restart it."""
    async with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority that signs the certificates of servers of the tests."""
    return trustme.CA()


@pytest.fixture(scope="session")
def node_scripts() -> Iterator[node.Node]:
    """Node with the scripts of tests/node."""
    with node.required_node(node.SCRIPTS) as node_runner:
        yield node_runner


@pytest.fixture(scope="session")
def guide_node() -> Iterator[node.Node]:
    """Node with the packages of the client projects in docs/how-to."""
    with node.required_node(node.GUIDE) as node_runner:
        yield node_runner


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real Chromium. Without one, the test is skipped, or fails if WATTGATE_TEST_BROWSER=required."""
    expect.set_options(timeout=PAGE_TIMEOUT_MS)
    async with chromium.started_chromium() as started:
        yield started

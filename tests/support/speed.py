"""Which tests are slow: they need a server, a browser, Node, a process or a filled database.

`make test-quick` omits them. Besides, which tests look for a program that a machine may lack: a browser, Node or a
program of the system. `make fresh` runs them where nothing is installed.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle, groupby
from types import ModuleType

import pytest

from tests.support.command import wattgate
from tests.support.engines import ENGINES, database_of, engine_of
from tests.support.house import house, tenant_on
from tests.support.link import link
from tests.support.node import node, required_node
from tests.support.processes import gateway, process
from tests.support.registries import serve_registry
from tests.support.servers import broker, database_on, postgresql, serving
from tests.support.system_programs import refuse, required_program

FIXTURES = frozenset(
    {"browser", "databases", "demo_url", "empty_url", "javascript_tools", "node_scripts", "own_redis", "postgresql_url"}
    | {"chart_renderer", "guide_node", "podman", "redis", "settled", "shared_environment"}
)
"""Fixtures that start something, or fill a database."""

PROGRAM_FIXTURES = frozenset({"browser", "guide_node", "node_scripts"})
"""Fixtures of all tests that look for a program."""

PROGRAM_SEEKERS = (refuse, required_node, required_program)
"""Functions that look for a program. They are called by test modules, or by modules that these import."""

SEEKERS_FOR_TLS = "tests.support.redis_server"
"""This module looks for a program only if the server has TLS. Tests of that have the marker themselves."""

PROCESS_FIXTURES = FIXTURES - {"databases", "empty_url", "postgresql_url", "settled"}
"""Fixtures that start more than a database."""

STARTERS = (
    broker,
    database_on,
    gateway,
    house,
    link,
    node,
    postgresql,
    process,
    serve_registry,
    serving,
    subprocess,
    tenant_on,
    wattgate,
)
"""Functions that start something. A test module that imports one of them by itself is slow as a whole."""


def mark_slow(items: list[pytest.Item]) -> None:
    """Mark the slow tests among those that were collected, and those that look for a program."""
    for item in items:
        if isinstance(item, pytest.Function) and (
            PROGRAM_FIXTURES.intersection(item.fixturenames) or _looks_for_programs(item.module.__name__)
        ):
            item.add_marker(pytest.mark.program)
        if isinstance(item, pytest.Function) and (
            FIXTURES.intersection(item.fixturenames) or _imports_a_starter(item.module)
        ):
            item.add_marker(pytest.mark.slow)


@dataclass
class Share:
    """The tests of a worker: those that it runs first, and the others."""

    first: list[pytest.Item] = field(default_factory=list)
    rest: list[pytest.Item] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.first) + len(self.rest)

    def ordered(self) -> list[pytest.Item]:
        """Return the tests in two parts. The second part begins on the engine on which the first one ends."""
        sqlite, postgresql = ENGINES
        return _by_engine(self.first, sqlite) + _by_engine(self.rest, postgresql)


def start_with_slow_modules(items: list[pytest.Item], workers: int) -> None:
    """Order the tests so that the first worker begins with the browser tests, the others with those with processes.

    pytest-xdist gives each worker consecutive tests. Slow tests at the end of one share would leave the other workers
    idle: they wait more than they compute. Browsers of several workers would need half as much processor time again.
    In both parts of each share, the tests on one engine follow each other, because fixtures of the session exist for
    one engine at a time. Otherwise the random order stays.
    """
    modules = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    shares = [Share() for _ in range(workers)]
    with_browser = [module for module in modules if _uses_browser(module)]
    with_processes = [module for module in modules if module not in with_browser and _starts_processes(module)]
    for module in with_browser:
        shares[0].first += module
    for module, share in zip(with_processes, cycle(shares[1:] or shares), strict=False):
        share.first += module
    for module in modules:
        if module not in with_browser and module not in with_processes:
            min(shares, key=len).rest.extend(module)
    items[:] = [item for share in shares for item in share.ordered()]


def _by_engine(items: list[pytest.Item], first: str) -> list[pytest.Item]:
    """Return the tests with those on the engine `first` before all others."""
    return sorted(items, key=lambda item: _engine(item) != first)


def _engine(item: pytest.Item) -> str:
    """Return the engine of a test. A test without a database follows the others of its module."""
    return database_of(item) or engine_of(item.nodeid.partition("::")[0])


def _uses_browser(module: list[pytest.Item]) -> bool:
    return any("browser" in getattr(item, "fixturenames", ()) for item in module)


def _starts_processes(module: list[pytest.Item]) -> bool:
    return any(
        isinstance(item, pytest.Function)
        and (PROCESS_FIXTURES.intersection(item.fixturenames) or _imports_a_starter(item.module))
        for item in module
    )


@cache
def _imports_a_starter(module: ModuleType) -> bool:
    return any(value is starter for value in vars(module).values() for starter in STARTERS)


@cache
def _looks_for_programs(name: str) -> bool:
    """Return whether a module of the tests has a function that looks for a program, or imports a module with one."""
    values = list(vars(sys.modules[name]).values())
    if any(value is seeker for value in values for seeker in PROGRAM_SEEKERS):
        return True
    sources = {
        value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", "")) for value in values
    }
    return any(
        _looks_for_programs(source)
        for source in sources - {name, SEEKERS_FOR_TLS}
        if source.startswith("tests.") and source in sys.modules
    )

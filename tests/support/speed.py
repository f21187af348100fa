"""Which tests are slow: they need a server, a browser, Node, a process or a filled database.

`make test-quick` omits them.
"""

import subprocess
from functools import cache
from types import ModuleType

import pytest

from tests.support.command import wattgate
from tests.support.house import house, tenant_on
from tests.support.link import link
from tests.support.node import node
from tests.support.processes import gateway, process
from tests.support.registries import serve_registry
from tests.support.servers import broker, database_on, postgresql, serving

FIXTURES = frozenset(
    {"browser", "databases", "demo_url", "empty_url", "javascript_tools", "node_scripts", "own_redis", "postgresql_url"}
    | {"redis", "settled", "shared_environment"}
)
"""Fixtures that start something, or fill a database."""

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
    """Mark the slow tests among those that were collected."""
    for item in items:
        if isinstance(item, pytest.Function) and (
            FIXTURES.intersection(item.fixturenames) or _imports_a_starter(item.module)
        ):
            item.add_marker(pytest.mark.slow)


@cache
def _imports_a_starter(module: ModuleType) -> bool:
    return any(value is starter for value in vars(module).values() for starter in STARTERS)

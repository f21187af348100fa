"""Load the fixtures into each process that runs tests.

The process that distributes tests to others needs none of them. It imports no part of the gateway, and starts its
workers three seconds earlier.
"""

import gc
from importlib import import_module

import pytest

from tests.support import memory_folder, run_report

FIXTURES = "tests.fixtures"

pytest.register_assert_rewrite(FIXTURES)


def pytest_configure(config: pytest.Config) -> None:
    memory_folder.use_memory()
    if runs_tests(config):
        gc.disable()  # until all tests are collected: modules and tests stay until the end
        config.pluginmanager.register(import_module(FIXTURES), FIXTURES)
    run_report.register(config)


def runs_tests(config: pytest.Config) -> bool:
    """Return whether this process runs or collects tests itself: a worker of pytest-xdist, or a run without workers."""
    is_distributed = config.getoption("dist", "no") != "no" and not config.option.collectonly
    return hasattr(config, "workerinput") or not is_distributed

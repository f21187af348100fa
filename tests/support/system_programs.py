"""Programs of the system that no wheel provides, such as nginx and promtool."""

import os
import shutil
from typing import NoReturn

import pytest

REQUIRED = "WATTGATE_TEST_PROGRAMS"
"""With the value `required`, a test fails if its program is not installed. Else it is skipped."""

SEARCH_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
"""Debian installs servers in folders that are not on the path of ordinary users."""


def required_program(name: str, package: str, *, path: str = SEARCH_PATH) -> str:
    """Return the file of a program. Without it, skip the test, or fail it if WATTGATE_TEST_PROGRAMS=required."""
    file = shutil.which(name, path=path)
    if file is None:
        refuse(f"{name} is not installed (Debian package {package})")
    return file


def refuse(missing: str) -> NoReturn:
    """Skip the test because something is missing, or fail it if WATTGATE_TEST_PROGRAMS=required."""
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{missing}, and {REQUIRED} requires it")
    pytest.skip(missing)

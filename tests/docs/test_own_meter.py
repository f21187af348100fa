"""The tutorial docs/tutorials/own-meter.md works unchanged, from an empty folder and the wheel alone."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.displays import open_login_form
from tests.support.markdown import code_blocks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "own-meter.md").read_text()
INSTALL, CREATE, SAMPLE, IMPORT, SHOW, ADD_RULE, SHOW_MAILS, SERVE = code_blocks(PAGE, "sh")
ACTIVATE = INSTALL.splitlines()[-1]
SERVED_AT = "http://127.0.0.1:8000"
BUILD = "from setuptools import build_meta; build_meta.build_wheel('dist')"
HALF_HOURS_OF_THE_YEAR = 366 * 48
POUNDS = re.compile(r"^£\d+\.\d\d$")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `make dist` does, from a copy of the sources."""
    assert "build_meta.build_wheel" in (ROOT / "Makefile").read_text()
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / "wattgate", folder / "wattgate", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True, capture_output=True, timeout=500)
    (built,) = (folder / "dist").glob("wattgate-*.whl")
    return built


def environment() -> dict[str, str]:
    """Return the environment of a new terminal: without the repository, and without a connection to a registry.

    pip compiles no module, because the commands of the page import a part of them.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WATTGATE_", "PYTHON", "PIP_"))}
    kept["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return kept | {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_COMPILE": "1", "WATTGATE_PORT": "0"}


def shell(folder: Path, *lines: str) -> str:
    """Run lines in a shell that begins in the folder, without a terminal. Return their output."""
    completed = subprocess.run(
        ["/bin/sh", "-ec", "\n".join(lines)],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Follow the first part of the page. The packages that wattgate needs are those of the tests."""
    folder = tmp_path_factory.mktemp("own-meter")
    shutil.copy(wheel, folder)
    shell(folder, INSTALL)
    (packages,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    (packages / "packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    module = shell(folder, ACTIVATE, "python -c 'import wattgate; print(wattgate.__file__)'")
    assert Path(module.strip()).is_relative_to(folder)
    return folder


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[str]:
    """Run the command of the page that serves, and yield the address that it prints."""
    log = folder / "log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-ec", f"{ACTIVATE}\nexec {SERVE}", cwd=folder, env=environment(), stdout=output, stderr=output
        )
    try:
        async with asyncio.timeout(60):
            while not (found := re.search(r"(?:Serving|running) on (http://\S+?:\d+)", log.read_text())):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.05)
        yield found[1]
    finally:
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), 60)


@pytest.fixture(scope="module")
def prepared(installed: Path) -> tuple[Path, str]:
    """Follow the page until the home has readings. Return the folder and the password."""
    created = shell(installed, ACTIVATE, CREATE)
    (password,) = re.findall(r"Password of ada@example\.org: (\S+)", created)
    for command in (IMPORT, SHOW, SERVE):
        assert command.strip().replace('"', "'") in created
    (program,) = code_blocks(PAGE, "python")
    (installed / "sample.py").write_text(program)
    shell(installed, ACTIVATE, SAMPLE)
    imported = shell(installed, ACTIVATE, IMPORT)
    assert re.search(rf"{HALF_HOURS_OF_THE_YEAR:,} .*0 refused", imported), imported
    shown = shell(installed, ACTIVATE, SHOW)
    assert (
        len(re.findall(r"electricity\.consumption\S*\s+\S{36}\s+2300000000116\s+20\S+Z\s+20\S+Z\s+Flat rate", shown))
        == 2
    )
    added = shell(installed, ACTIVATE, ADD_RULE)
    assert re.search(r"would have fired [1-9]\d* times?\.", added), added
    shell(installed, SHOW_MAILS)
    return installed, password


def check_sample(folder: Path) -> None:
    """Check that the file has a year with both clock changes."""
    lines = (folder / "readings.csv").read_text().split()
    times = [line.partition(",")[0] for line in lines[1:]]
    assert (lines[0], len(times)) == ("localTime,value", HALF_HOURS_OF_THE_YEAR)
    assert len(times) - len(set(times)) == 2, "two half hours of local time occur twice"


def has_readings_of_today(folder: Path) -> bool:
    """Return whether the file has a reading of this day. It has none until the first half hour is over."""
    newest = (folder / "readings.csv").read_text().split()[-1]
    return newest.startswith(f"{datetime.now(ZoneInfo('Europe/London')):%Y-%m-%d}T")


@pytest.mark.long("builds a wheel, installs it and imports a year; imports and the display have tests of their own")
@pytest.mark.browser
@pytest.mark.timeout(600)
async def test_display_shows_the_cost_of_today(browser: Browser, prepared: tuple[Path, str]) -> None:
    folder, password = prepared
    check_sample(folder)
    async with served(folder) as url:
        page = await browser.new_page(viewport={"width": 1024, "height": 600})
        (address,) = re.findall(rf"{SERVED_AT}(/display)", PAGE)
        await open_login_form(page, url + address)
        await page.get_by_test_id("username").fill("ada@example.org")
        await page.get_by_test_id("password").fill(password)
        await page.get_by_test_id("login").click()
        await expect(page.get_by_test_id("today-cost")).to_be_visible(timeout=30_000)
        if has_readings_of_today(folder):
            for period in ("today", "month"):
                await expect(page.get_by_test_id(f"{period}-cost")).to_have_text(POUNDS, timeout=30_000)
        await check_mail_of_the_rule(page, url)
        await page.close()


async def check_mail_of_the_rule(page: Page, url: str) -> None:
    """Check that the page of the mails shows that of the rule, and opens it."""
    (address,) = re.findall(rf"{SERVED_AT}(/outbox)", PAGE)
    await page.goto(url + address)
    subject = re.compile(r"My home: \d+\.\d\d kWh, limit 4\.00 kWh")
    await expect(page.get_by_test_id("mail")).to_contain_text([subject], timeout=30_000)

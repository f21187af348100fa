"""The command line, run as a user runs it."""

import asyncio
import base64
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.processes import gateway_from_scratch
from tests.support.servers import broker
from wattgate.app.cli.main import main
from wattgate.graphql.catalogue import OPERATIONS


def wattgate(*arguments: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder with these settings (without their prefix)."""
    return subprocess.run(
        [sys.executable, "-m", "wattgate", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", **{f"WATTGATE_{name}": value for name, value in settings.items()}},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


Doctor = Callable[..., tuple[int, str]]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """`wattgate doctor` with settings, within this process: its exit status, and what it says on stderr in one line."""

    def run(**settings: str) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["wattgate", "doctor"])
        for name, value in settings.items():
            monkeypatch.setenv(f"WATTGATE_{name}", value)
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), " ".join(capsys.readouterr().err.split())

    return run


def test_from_an_empty_folder_to_a_served_application(tmp_path: Path) -> None:
    asyncio.run(_from_an_empty_folder(tmp_path))


async def _from_an_empty_folder(folder: Path) -> None:
    refused = wattgate("serve", folder=folder)
    assert refused.returncode == 1
    assert "run wattgate db upgrade" in refused.stderr
    assert wattgate("doctor", folder=folder).returncode == 1
    assert wattgate("db", "upgrade", folder=folder).returncode == 0
    assert wattgate("doctor", folder=folder).returncode == 0
    made = wattgate("app", "create", "Mine", "--username", "mine", folder=folder)
    application_id, credential = re.findall(r"(?:id|Basic)\s+(\S+)", made.stdout)
    user = wattgate("user", "create", application_id, "ada@mine.example", "--password", "long enough", folder=folder)
    assert user.returncode == 0, user.stderr
    unknown = wattgate("user", "create", "unknown", "ada@mine.example", "--password", "long enough", folder=folder)
    assert (unknown.returncode, "NOT_FOUND" in unknown.stderr) == (1, True)
    redirect = ("--redirect-uri", "https://client.example/back")
    oauth = wattgate("oauth-client", "create", application_id, "Client", *redirect, folder=folder)
    assert len(re.findall(r"Client (?:id|secret)\s+(\S{20,})", oauth.stdout)) == 2, oauth.stderr
    public = wattgate("oauth-client", "create", application_id, "App", *redirect, "--public", folder=folder)
    assert re.search(r"Client secret\s+none", public.stdout), public.stderr
    async with gateway_from_scratch(folder=folder) as one, httpx.AsyncClient(base_url=one.url) as client:
        basic = {"Authorization": "Basic " + base64.b64encode(credential.encode()).decode()}
        accounts = (await client.get("/api/v0-1/account", headers=basic)).json()
        assert [account["username"] for account in accounts] == ["ada@mine.example"]
        ide = await client.get("/graphql", headers={"Accept": "text/html"})
        assert ide.status_code == 406  # serve is for production unless told otherwise
        assert (await client.get("/display")).status_code == 200
        one.signal(signal.SIGTERM)
        assert await one.ends() == 0


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("DATABASE_URL", "mysql://root@localhost/x", "mysql is not supported"),
        ("DATABASE_URL", "what", "is not a database URL"),
        ("REDIS_URL", "http://localhost", "is not an address such as redis://user:password@host:6379/0"),
        ("REDIS_URL", "redis://localhost:eighty", "Port could not be cast"),
        ("PORT", "eighty", "valid integer"),
        ("BASE_PATH", "api", "must begin with a slash"),
        ("LOG_LEVEL", "loud", "'debug', 'info', 'warning' or 'error'"),
        ("ALLOWED_ORIGINS", "not json", "ALLOWED_ORIGINS"),
        ("MQTT_URL", "http://localhost", "is not an address such as mqtt://user:password@host:1883"),
        ("MQTT_URL", "mqtt://localhost:eighty", "Port could not be cast"),
        ("MQTT_TOPICS", '["glow/#/STATE"]', "'glow/#/STATE' is not a valid MQTT topic filter"),
        ("MQTT_TOPICS", "[]", "at least 1 item"),
        ("MQTT_CLIENT_ID", "", "at least 1 character"),
    ],
)
def test_a_bad_setting_stops_the_boot_with_a_sentence(doctor: Doctor, setting: str, value: str, told: str) -> None:
    status, stderr = doctor(**{setting: value})
    assert status == 2
    assert f"WATTGATE_{setting}" in stderr
    assert told in stderr
    assert "Traceback" not in stderr


def test_displays_are_some_applications(doctor: Doctor) -> None:
    status, stderr = doctor(MQTT_URL="mqtt://localhost")
    assert status == 2
    assert "WATTGATE_MQTT_APPLICATION_ID: Value error, is required with WATTGATE_MQTT_URL" in stderr


def test_a_broker_without_what_the_intake_needs_stops_the_boot_with_a_sentence(tmp_path: Path) -> None:
    without = "import sys; sys.modules['aiomqtt'] = None; from wattgate.app.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, "doctor"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200", "WATTGATE_MQTT_URL": "mqtt://localhost"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install wattgate[mqtt]" in done.stderr


async def test_the_doctor_says_whether_the_broker_lets_the_gateway_in(tmp_path: Path) -> None:
    async def doctor(url: str) -> subprocess.CompletedProcess[str]:
        settings = {"MQTT_URL": url, "MQTT_APPLICATION_ID": "mine"}
        return await asyncio.to_thread(wattgate, "doctor", folder=tmp_path, **settings)

    assert (await asyncio.to_thread(wattgate, "db", "upgrade", folder=tmp_path)).returncode == 0
    async with broker() as server:
        welcome = await doctor(server.url)
        assert (welcome.returncode, "MQTT broker   answers" in welcome.stdout) == (0, True), welcome.stderr
        nameless = await doctor(server.url.replace("gateway@", ""))
        assert (nameless.returncode, "does not let the gateway in" in nameless.stderr) == (1, True)
    away = await doctor(server.url)
    assert (away.returncode, "does not let the gateway in" in away.stderr) == (1, True)


def test_a_database_that_does_not_answer_is_told_by_the_doctor(tmp_path: Path) -> None:
    done = wattgate("doctor", folder=tmp_path, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert done.returncode == 1
    assert "does not answer" in done.stderr


def test_the_routes_name_every_operation(tmp_path: Path) -> None:
    printed = wattgate("routes", folder=tmp_path).stdout
    for operation in OPERATIONS:
        assert re.search(rf"\b{operation.kind.value.lower()} {operation.name}\b", printed), operation.name


def test_the_schema_is_printed_for_code_generators(tmp_path: Path) -> None:
    printed = wattgate("schema", folder=tmp_path).stdout
    assert "type Query {" in printed
    assert "recordReadings(" in printed

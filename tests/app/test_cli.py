"""The command line: start from an empty folder, settings errors, doctor, routes and schema."""

import asyncio
import base64
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess

import httpx
import pytest

from tests.support.command import wattgate_in
from tests.support.processes import gateway_from_scratch
from tests.support.servers import broker
from wattgate.app.cli.consoles import CommandConsole
from wattgate.app.cli.main import main
from wattgate.app.cli.record_lists import print_records
from wattgate.app.settings import Settings
from wattgate.operations.catalogue import OPERATIONS


def wattgate(*arguments: str, folder: Path, without: Collection[str] = (), **settings: str) -> CompletedProcess[str]:
    """Run the command line in a folder. `wattgate_in` explains the options."""
    return wattgate_in(folder, *arguments, without=without, **settings)


def test_names_cannot_change_the_terminal() -> None:
    """A name in a list may come from a stranger, who registered with it."""
    name = "Eve\x1b[2J\x1b]0;title\x07\nroot\x85\u202efake\u2028\x7f"
    screen = StringIO()
    console = CommandConsole(file=screen, force_terminal=True, color_system=None, width=200)
    print_records([{"name": name, "others": [name]}], 1, as_json=False, console=console)
    console.print(f"of {name}", markup=False, highlight=False)
    lines = screen.getvalue().split("\n")
    assert [line.count("Eve") for line in lines] == [0, 2, 1, 0, 0]  # the line break of a plain text stays
    assert [line for line in lines if not line.isprintable()] == []


Doctor = Callable[..., tuple[int, str]]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run `wattgate doctor` in this process with settings. Return the exit status, and standard error as one line."""

    def run(**settings: str) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["wattgate", "doctor"])
        for name, value in settings.items():
            monkeypatch.setenv(f"WATTGATE_{name}", value)
        with pytest.raises(SystemExit) as exit_error:
            main()
        return int(exit_error.value.code or 0), " ".join(capsys.readouterr().err.split())

    return run


@pytest.mark.long("starts a new interpreter for each of many commands")
def test_empty_folder_becomes_served_application(tmp_path: Path) -> None:
    asyncio.run(_serve_from_empty_folder(tmp_path))


async def _serve_from_empty_folder(folder: Path) -> None:
    rejected = wattgate("serve", folder=folder)
    assert rejected.returncode == 1
    assert "`wattgate db upgrade` creates" in rejected.stderr
    assert wattgate("doctor", folder=folder).returncode == 1
    assert wattgate("db", "upgrade", folder=folder).returncode == 0
    assert wattgate("doctor", folder=folder).returncode == 0
    created = wattgate("app", "create", "Mine", "--username", "mine", folder=folder)
    application_id, credential = re.findall(r"(?:id|Basic)\s+(\S+)", created.stdout)
    user = wattgate("user", "create", application_id, "ada@mine.example", "--password", "long enough", folder=folder)
    assert user.returncode == 0, user.stderr
    unknown = wattgate("user", "create", "unknown", "ada@mine.example", "--password", "long enough", folder=folder)
    assert (unknown.returncode, "NOT_FOUND" in unknown.stderr) == (1, True)
    redirect = ("--redirect-uri", "https://client.example/back")
    oauth = wattgate("oauth-client", "create", application_id, "Client", *redirect, folder=folder)
    assert len(re.findall(r"Client (?:id|secret)\s+(\S{20,})", oauth.stdout)) == 2, oauth.stderr
    public = wattgate("oauth-client", "create", application_id, "App", *redirect, "--public", folder=folder)
    assert re.search(r"Client secret\s+none", public.stdout), public.stderr
    async with gateway_from_scratch(folder=folder) as process, httpx.AsyncClient(base_url=process.url) as client:
        basic = {"Authorization": "Basic " + base64.b64encode(credential.encode()).decode()}
        accounts = (await client.get("/api/v0-1/account", headers=basic)).json()
        assert [account["username"] for account in accounts] == ["ada@mine.example"]
        page = (await client.get("/graphql", headers={"Accept": "text/html"})).text
        assert "WATTGATE_GRAPHQL_IDE" in page  # the default environment is production, which has no IDE
        assert (await client.get("/display")).status_code == 200
        process.signal(signal.SIGTERM)
        assert await process.ends() == 0


def test_secret_of_an_application_can_be_rotated(tmp_path: Path) -> None:
    assert wattgate("db", "upgrade", folder=tmp_path).returncode == 0
    created = wattgate("app", "create", "Mine", "--username", "mine", folder=tmp_path)
    rotated = wattgate("app", "rotate-secret", "mine", folder=tmp_path)
    before, after = (re.findall(r"(?:id|Basic)\s+(\S+)", command.stdout) for command in (created, rotated))
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert after[1].startswith("mine:")
    unknown = wattgate("app", "rotate-secret", "unknown", folder=tmp_path)
    assert (unknown.returncode, "NOT_FOUND" in unknown.stderr) == (1, True)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (
            "DATABASE_URL",
            "mysql://root:hidden@localhost/x",
            "the value 'mysql://***@localhost/x' names the database mysql, which is not supported. "
            "Write sqlite:///FILE or postgresql://user:password@host/name.",
        ),
        ("DATABASE_URL", "what", "the value 'what' is not a database URL. Write sqlite:///FILE or postgresql://"),
        ("DATABASE_URL", "postgresql://a:hidden@host:eighty/x", "the value 'postgresql://***@host:"),
        ("DATABASE_URL", "sqlite:///a\nb", "has a line break or another control character. Remove it."),
        ("DATABASE_URL", "postgresql://a:hidden@[host/x", "is not a URL. Check the brackets"),
        ("DATABASE_POOLER", "sessions", "the value 'sessions' is not valid. Write 'none' or 'transaction'."),
        (
            "DATABASE_REPLICA_URL",
            "postgresql://a:hidden@host/x",
            "the value 'postgresql://***@host/x' needs PostgreSQL, here and in WATTGATE_DATABASE_URL. Write both as "
            "postgresql://user:password@host/name, or unset this setting.",
        ),
        (
            "REDIS_URL",
            "http://localhost",
            "the value 'http://localhost' is not an address of Redis. Write one such as redis://user:password@host:6379",
        ),
        (
            "REDIS_URL",
            "redis://localhost:hidden",
            "the value 'redis://localhost:***' has an invalid port. Write a number",
        ),
        (
            "REDIS_URL",
            "redis+sentinel://:hidden@localhost?masters=x",
            "the value 'redis+sentinel://***@localhost?***' has the unknown option 'masters'. Write an address such as",
        ),
        (
            "REDIS_URL",
            "redis+sentinel://localhost?sentinel_password=x@hidden",
            "the value 'redis+sentinel://***' names no primary: add ?master=NAME",
        ),
        ("REDIS_URL", "rediss://:hidden", "the value 'rediss://:***' is not an address of Redis. Write one such as"),
        ("WEB_PUSH_KEY", "hidden", "is not 32 bytes long in base64url. Write the private key of a VAPID key pair."),
        ("SMTP_URL", "smtps://mail.example:hidden", "the value 'smtps://mail.example:***' has an invalid port."),
        ("LINK_KEY", "hidden", "is too short. Write at least 32 characters."),
        ("LINK_KEY", "", "is too short. Write at least 32 characters."),
        ("SECRET_KEYS", "hidden", "has a key without a valid id; write ID:KEY, as `wattgate keys new` prints."),
        ("PORT", "eighty", "the value 'eighty' is not a whole number. Write digits only."),
        ("PORT", "70000", "the value '70000' is too large. Write a number of at most 65535."),
        ("OPERATION_SECONDS", "0", "the value '0' is too small. Write a number above 0."),
        ("OPERATION_SECONDS", "long", "the value 'long' is not a number. Write one such as 2.5."),
        ("DELIVER", "perhaps", "the value 'perhaps' is neither true nor false. Write true or false."),
        ("BASE_PATH", "api", "the value 'api' must begin with a slash and must not end with one. Write a path such as"),
        ("LOG_LEVEL", "loud", "the value 'loud' is not valid. Write 'debug', 'info', 'warning' or 'error'."),
        ("ALLOWED_ORIGINS", "not json", "the value 'not json' is not a list in JSON. Write one such as [\"first\""),
        ("MAIL_OUTBOX", "maybe", "the value 'maybe' is neither true nor false. Write true or false."),
        ("TRUSTED_PROXIES", '["proxy"]', "the value 'proxy' is not a network. Write one such as 10.0.0.0/8."),
        (
            "MQTT_URL",
            "http://localhost",
            "is not an address of an MQTT broker. Write one such as mqtt://user:password@",
        ),
        ("MQTT_URL", "mqtt://localhost:hidden", "the value 'mqtt://localhost:***' has an invalid port. Write a number"),
        ("MQTT_TOPICS", '["glow/#/STATE"]', "'glow/#/STATE' is not a valid MQTT topic filter. Write one such as"),
        ("MQTT_TOPICS", "[]", "the value [] is too short. Write at least 1 item."),
        ("MQTT_CLIENT_ID", "", "the value '' is too short. Write at least 1 character."),
    ],
)
def test_invalid_setting_stops_start_with_message(doctor: Doctor, setting: str, value: str, message: str) -> None:
    status, stderr = doctor(**{setting: value})
    assert status == 2
    assert stderr.startswith(f"WATTGATE_{setting}: ")
    assert stderr.count("WATTGATE_") == 1 + message.count("WATTGATE_"), "each setting has one message"
    assert message in stderr
    assert all(text not in stderr for text in ("Traceback", "Value error", "Input should", "hidden"))


def test_white_space_around_an_address_is_removed(doctor: Doctor) -> None:
    status, stderr = doctor(DATABASE_URL=" sqlite:///mine.sqlite3\r\n")
    assert (status, stderr) == (1, "")
    assert (
        str(Settings(_env_file=None, database_url="sqlite:///mine.sqlite3\n").database_url) == "sqlite:///mine.sqlite3"
    )


def test_unknown_settings_of_env_file_are_reported_by_name(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("WATTGATE_PROT=8000\nPATH_PREFIX=/api\n")
    status, stderr = doctor()
    assert status == 2
    assert stderr == (
        ".env:1: WATTGATE_PROT: unknown setting in .env. Did you mean WATTGATE_PORT? "
        ".env:2: PATH_PREFIX: unknown setting in .env. Correct the name or remove the line."
    )


def test_mqtt_url_requires_application_id(doctor: Doctor) -> None:
    status, stderr = doctor(MQTT_URL="mqtt://localhost")
    assert status == 2
    assert "WATTGATE_MQTT_APPLICATION_ID: is required with WATTGATE_MQTT_URL" in stderr


def test_mqtt_url_without_mqtt_extra_stops_start_with_message(tmp_path: Path) -> None:
    script = "import sys; sys.modules['aiomqtt'] = None; from wattgate.app.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", script, "doctor"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200", "WATTGATE_MQTT_URL": "mqtt://localhost"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 2
    command = f"{sys.executable} -m pip install 'aiomqtt>=2.5,<2.6' 'paho-mqtt>=2.1,<2.3'"
    assert command in " ".join(result.stderr.split())


async def test_doctor_reports_whether_broker_accepts_connection(tmp_path: Path) -> None:
    async def doctor(url: str) -> CompletedProcess[str]:
        settings = {"MQTT_URL": url, "MQTT_APPLICATION_ID": "mine"}
        return await asyncio.to_thread(wattgate, "doctor", folder=tmp_path, **settings)

    assert (await asyncio.to_thread(wattgate, "db", "upgrade", folder=tmp_path)).returncode == 0
    async with broker() as server:
        accepted = await doctor(server.url)
        assert (accepted.returncode, "MQTT broker   answers" in accepted.stdout) == (0, True), accepted.stderr
        rejected = await doctor(server.url.replace("gateway@", ""))
        assert (rejected.returncode, "MQTT broker   the connection failed: " in rejected.stdout) == (1, True)
    unavailable = await doctor(server.url)
    assert (unavailable.returncode, "MQTT broker   the connection failed: " in unavailable.stdout) == (1, True)


def test_doctor_reports_database_that_does_not_answer(tmp_path: Path) -> None:
    result = wattgate("doctor", folder=tmp_path, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert result.returncode == 1
    assert "does not answer" in result.stdout


def test_routes_command_prints_every_operation(tmp_path: Path) -> None:
    printed = wattgate("routes", folder=tmp_path).stdout
    for operation in OPERATIONS:
        field = f"{operation.kind.value.lower()} {operation.field_path}"
        assert re.search(rf"\b{re.escape(field)}\b", printed), field


def test_schema_command_prints_sdl(tmp_path: Path) -> None:
    printed = wattgate("schema", folder=tmp_path).stdout
    assert "type Query @" in printed
    assert "recordReadings(" in printed

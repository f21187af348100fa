"""`wattgate home import`: homes, users, tariffs and devices from a table."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Command, command_in, command_on
from tests.support.sqlite_files import execute
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.homes.series import find_operation
from wattgate.app.settings import Settings
from wattgate.operations.credentials.tokens import authenticate
from wattgate.operations.types.meters.devices import NewDeviceType, NewTypeProtocol
from wattgate.principal import Principal, Role

APPLICATION, ZONE = "My app", "Europe/London"
OPTIONS = ("--application", APPLICATION, "--time-zone", ZONE)
ADA, BOB, EVE = "ada@table.example", "bob@table.example", "eve@table.example"
TERMINAL = """\
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("wattgate", run_name="__main__")
"""
"""A command as on a terminal. A process in the background of a shell ignores SIGINT."""
WEIGHTS = (3, 5, 7, 13, 17, 19, 23, 29, 31, 37, 41, 43)


def mpan(number: int) -> str:
    """Return an MPAN with a right check digit."""
    core = f"23{number:010d}"
    return core + str(sum(int(digit) * weight for digit, weight in zip(core, WEIGHTS, strict=True)) % 11 % 10)


@pytest.fixture
async def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands on a database with the schema and an application."""
    return await command_on(database_url, tmp_path, monkeypatch, capsys)


@pytest.fixture
def application(command: Command) -> Principal:
    """The application of the tables, with one device type."""
    assert command("app", "create", APPLICATION, "--username", "table-app").status == 0
    (found,) = listed(command, "app", "list")
    system = Principal(Role.SYSTEM, application_id=found["applicationId"])
    new_type = NewDeviceType(description="In-home display", protocol=NewTypeProtocol(protocol="MQTT", sensors=[]))
    add = find_operation("add_device_type")
    run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(add, system, {"input": new_type})))
    return system


def listed(command: Command, *words: str) -> Any:
    outcome = command(*words, "--json")
    assert outcome.status == 0, outcome.error
    return json.loads(outcome.out)


def homes(command: Command) -> list[tuple[str, str]]:
    return sorted(
        (home["user"], home["name"]) for home in listed(command, "home", "list", "--application", APPLICATION)
    )


def tariffs(home: dict[str, Any]) -> dict[str, str | None]:
    """Return the name of the tariff of each source of energy of a home."""
    energy = [resource for resource in home["resources"] if not resource["classifier"].endswith(".cost")]
    return {resource["classifier"]: resource["tariff"] for resource in energy}


def read_report(folder: Path) -> list[dict[str, str]]:
    with (folder / "report.csv").open() as file:
        return list(csv.DictReader(file))


def read_passwords(folder: Path) -> dict[str, str]:
    with (folder / "pw.csv").open() as file:
        return dict(csv.reader(file))


WRONG = f"""\
User;Person;name;Electricity;gas;unit rate;standing-charge;device;time_zone
{ADA};Ada;Flat;{mpan(1)};9000000011;0.245;0.538;AA-01;
{BOB};Bob;Home;{mpan(2)};;;;;Europe/Atlantis
{BOB};Bob;Home;{mpan(2)};;;;BB-02;Europe/Paris
{ADA};Ada;Flat;{mpan(1)};9000000011;0.245;0.538;AA-01;
{EVE};Eve;Home;{mpan(2)};;;;;
not an address;;Home;{mpan(3)};;;;;
{EVE};Eve;Home;12;;0.2;;;
{EVE};Eve;Home;{mpan(4)};;;;aa:01;
{EVE};Eve;Home;{mpan(5)};
{EVE};Eve;Home;{mpan(6)};;24.5;0;;

{ADA};;Cottage;{mpan(7)};;;;;
{EVE};"Eve;Home;{mpan(8)};;;;;
"""


def test_wrong_lines_are_refused_by_number_and_the_others_are_set_up(
    command: Command, application: Principal, tmp_path: Path
) -> None:
    table = tmp_path / "homes.csv"
    table.write_text(WRONG)
    dry = command("home", "import", "homes.csv", *OPTIONS, "--dry-run", "--report", "report.csv")
    # a dry run stores no device, so it cannot see that line 9 has the device of line 2
    assert (dry.status, dry.out) == (
        1,
        "12 homes: 4 would create, 0 exists, 8 refused. Dry run: nothing was changed.\n",
    )
    assert homes(command) == []
    assert listed(command, "user", "list", "--application", APPLICATION) == []

    outcome = command("home", "import", "homes.csv", *OPTIONS, "--report", "report.csv", "--passwords", "pw.csv")
    assert (outcome.status, outcome.out) == (1, "12 homes: 3 created, 0 completed, 0 unchanged, 9 refused.\n")
    reasons = {
        3: "timeZone: 'Europe/Atlantis' is not",
        5: f"repeats the home 'Flat' of {ADA} of line 2",
        6: f"repeats the meter point {mpan(2)} of line 4",
        7: "user: 'not an address'",
        8: "electricity: 12 has 2 digits",
        9: f"device: 'aa:01' belongs to the user {ADA}",
        10: "has 5 cells, and the header has 9",
        11: "unitRate: 24.5 is more than 5 GBP",
        14: "is not CSV",
    }
    report = read_report(tmp_path)
    assert {int(line["line"]): line["result"] for line in report if line["result"] != "refused"} == dict.fromkeys(
        (2, 4, 13), "created"
    )
    for number, reason in reasons.items():
        (line,) = [line for line in report if int(line["line"]) == number]
        assert line["text"].startswith(reason), line
        assert f"line {number}: {' '.join(line['text'].split())}" in outcome.error
    assert "standingCharge: is missing" in next(line["text"] for line in report if line["line"] == "8")
    assert homes(command) == [(ADA, "Cottage"), (ADA, "Flat"), (BOB, "Home")]
    zones = {home["name"]: home["timeZone"] for home in listed(command, "home", "list", "--application", APPLICATION)}
    assert zones == {"Flat": ZONE, "Home": "Europe/Paris", "Cottage": ZONE}
    shown = listed(command, "home", "show", "Flat", "--application", APPLICATION)
    assert tariffs(shown) == {"electricity.consumption": "Flat rate", "gas.consumption": None}

    assert stat.S_IMODE((tmp_path / "pw.csv").stat().st_mode) == 0o600
    passwords = read_passwords(tmp_path)
    assert list(passwords) == [ADA, BOB]
    login = {"username": ADA, "password": passwords[ADA], "application_id": application.application_id}
    anonymous = Principal(Role.ANONYMOUS, application_id=application.application_id)
    assert run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(authenticate, anonymous, login))).token

    again = command("home", "import", "homes.csv", *OPTIONS, "--report", "report.csv", "--passwords", "pw.csv")
    assert (again.status, again.out) == (1, "12 homes: 0 created, 0 completed, 3 unchanged, 9 refused.\n")
    assert read_passwords(tmp_path) == passwords


def test_json_lines_have_tariffs_of_each_source(command: Command, application: Principal, tmp_path: Path) -> None:
    def tariff(name: str, **others: str) -> dict[str, str]:
        valid_from = {"validFrom": "2025-01-01T00:00:00Z"}
        return {"kind": "FLAT", "name": name, "rate": "0.245", "standingCharge": "0.5"} | valid_from | others

    home = {"user": ADA, "electricity": mpan(1), "gas": "9000000011", "live": True, "culture": "fr-FR"}
    gas = tariff("Gas", classifier="gas.consumption")
    lines = [
        home | {"tariffs": [tariff("Fixed"), gas], "device": "AA-01", "deviceType": "In-home display"},
        home | {"user": BOB, "electricity": mpan(2), "gas": None, "tariffs": [gas]},
        home | {"user": BOB, "electricity": 2300000000116},
        home | {"user": BOB, "colour": "blue"},
        home | {"user": BOB, "tariffs": "Fixed"},
        home | {"user": BOB, "electricity": mpan(3), "gas": "9000000022", "device": "BB-02", "deviceType": "Clock"},
        {"user": BOB, "live": "perhaps", "electricity": mpan(4)},
        ["a list"],
    ]
    table = tmp_path / "homes.jsonl"
    table.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    outcome = command("home", "import", "homes.jsonl", *OPTIONS)
    assert (outcome.status, outcome.out) == (1, "9 homes: 1 created, 0 completed, 0 unchanged, 8 refused.\n")
    for text in (
        "line 2: tariffs: tariff 1: classifier: 'gas.consumption' is not one of the home",
        "line 3: electricity: is not a text",
        "line 4: unknown member 'colour'",
        "line 5: tariffs: is not a list of objects",
        "line 6: deviceType: no device type has the ID or description 'Clock'. There are: 'In-home display'",
        "line 7: live: 'perhaps' is neither true nor false",
        "line 8: is not a JSON object",
        "line 9: is not JSON",
    ):
        assert text in outcome.error
    shown = listed(command, "home", "show", "Home", "--application", APPLICATION)
    assert tariffs(shown) == {"electricity.consumption": "Fixed", "gas.consumption": "Gas"}
    for header, problem in (
        ("user,electricity,colour", "unknown column 'colour'"),
        ("user,name", "the column electricity is missing"),
        ("user,electricity,time zone,timeZone", "the column timeZone is there twice"),
    ):
        table.write_text(f"{header}\n{ADA},{mpan(1)}\n")
        refused = command("home", "import", "homes.jsonl", *OPTIONS)
        assert refused.status == 1
        assert problem in refused.error


def test_an_import_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A home stops in its middle, and Ctrl+C stops the import: the same command adds what is missing, once.

    The table is long until Ctrl+C arrives. The homes that the first import has reached are at its start.
    """
    command = command_in(tmp_path, monkeypatch, capsys)
    assert command("db", "upgrade").status == 0
    assert command("app", "create", APPLICATION, "--username", "table-app").status == 0
    expected = [(f"user{number:02}@table.example", "Home") for number in range(40)]
    table = ["user,electricity\n", *(f"{user},{mpan(number)}\n" for number, (user, _) in enumerate(expected))]
    (tmp_path / "homes.csv").write_text("".join(table))
    execute(
        tmp_path,
        "CREATE TRIGGER full BEFORE INSERT ON virtual_entity WHEN (SELECT count(*) FROM virtual_entity) = 1 "
        "BEGIN SELECT RAISE(ABORT, 'full'); END",
    )
    words = ("home", "import", "homes.csv", *OPTIONS, "--report", "report.csv")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", TERMINAL, *words], cwd=tmp_path, env=environment) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if (tmp_path / "report.csv").exists() and len(read_report(tmp_path)) >= 2:
                process.send_signal(signal.SIGINT)
                break
            time.sleep(0.01)
        assert process.wait(60) == 130
    assert {line["result"] for line in read_report(tmp_path)} == {"created", "refused"}
    assert len(homes(command)) == 1
    execute(tmp_path, "DROP TRIGGER full")
    rest = max(len(read_report(tmp_path)), 8)
    (tmp_path / "homes.csv").write_text("".join(table[: 1 + rest]))
    outcome = command(*words)
    created = f"{rest} homes: {rest - 1} created, 0 completed, 1 unchanged, 0 refused.\n"
    assert (outcome.status, outcome.out) == (0, created)
    assert homes(command) == expected[:rest]
    assert len(execute(tmp_path, "SELECT * FROM resource")) == 2 * rest

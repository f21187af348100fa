"""`wattgate home create`, and the lists of applications, users and homes, on both databases."""

import json
import os
import pty
import re
import select
import shlex
import sys
import termios
import time
import zipfile
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import pytest
import sqlalchemy

from tests.support.cli import Command, Outcome, command_in, command_on
from tests.support.sqlite_files import execute
from wattgate.app.cli.database_context import run_async, with_database
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.cli.passwords import ALPHABET, generate_password
from wattgate.app.homes.default_culture import UNCHOSEN_CULTURE, default_culture, default_currency
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import NEWEST_REVISION
from wattgate.enums import ConsentBasis, TenancyProof
from wattgate.operations.consent.consent import consent_receipts, tenancies
from wattgate.operations.homes.virtual_entities import deactivate_virtual_entity
from wattgate.operations.moves.resource_changes import update_resource
from wattgate.operations.readings.files.reading_imports import resources_by_id
from wattgate.operations.types.consent import ConsentChangeKind
from wattgate.operations.types.homes.meter_points import ResourceChange
from wattgate.principal import Principal, Role

APPLICATION, USER, HOME, ZONE = "My app", "ada@mine.example", "My home", "Europe/London"
MPAN, OTHER_MPAN, EXPORT_MPAN, MPRN = "2300000000116", "2300000000222", "1000000000012", "9000000011"
FLAT = {"unit_rate": "0.245", "standing_charge": "0.538"}
ELECTRICITY, GAS, EXPORT = "electricity.consumption", "gas.consumption", "electricity.export"

OF_A_HOUSEHOLD = [
    *(("alert type", name) for name in ("High consumption", "No readings", "Budget")),
    *(
        ("template", name)
        for name in (
            "High consumption (en-GB)",
            "Forte consommation (fr)",
            "No readings (en-GB)",
            "Aucun relevé (fr)",
            "Budget (en-GB)",
            "Budget (fr)",
        )
    ),
    ("terms", "Terms of the app"),
    ("terms", "Terms of flexibility events"),
]


@pytest.fixture
async def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands on a database with the schema."""
    return await command_on(database_url, tmp_path, monkeypatch, capsys)


@pytest.fixture
def command_on_empty(
    empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands on an empty database of each engine."""
    monkeypatch.setenv("WATTGATE_DATABASE_URL", empty_url)
    return command_in(tmp_path, monkeypatch, capsys)


def arguments(**options: Any) -> list[str]:
    """Return the arguments of `home create` with these options instead of the usual ones. None leaves one out."""
    usual = {"application": APPLICATION, "user": USER, "name": HOME, "time_zone": ZONE, "electricity": MPAN}
    words = ["home", "create"]
    for name, value in (usual | options).items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words


def create(command: Command, **options: Any) -> dict[str, Any]:
    """Set up a home and return the JSON output."""
    outcome = command(*arguments(**options), "--json")
    assert outcome.status == 0, outcome.error
    return dict(json.loads(outcome.out))


def listed(command: Command, *words: str) -> Any:
    outcome = command(*words, "--json")
    assert outcome.status == 0, outcome.error
    return json.loads(outcome.out)


def created(setup: dict[str, Any]) -> list[tuple[str, str]]:
    return [(record["kind"], record["name"]) for record in setup["records"] if record["created"]]


def refused(outcome: Outcome, *texts: str) -> None:
    """Assert that a command was refused with these texts."""
    assert outcome.status == 1, outcome
    for text in texts:
        assert text in outcome.error


def all_records(command: Command) -> dict[str, Any]:
    """Return everything that the lists show."""
    return {
        "applications": listed(command, "app", "list"),
        "users": listed(command, "user", "list", "--application", APPLICATION),
        "homes": listed(command, "home", "list", "--application", APPLICATION),
        "home": listed(command, "home", "show", HOME, "--application", APPLICATION),
    }


def test_an_empty_database_becomes_a_home_and_a_second_run_changes_nothing(command_on_empty: Command) -> None:
    options = {**FLAT, "gas": MPRN, "export": EXPORT_MPAN, "live": True}
    first = create(command_on_empty, **options)
    assert first["schemaCreated"] is True
    assert created(first) == [
        ("application", APPLICATION),
        ("user", USER),
        *(
            pair
            for name in (ELECTRICITY, f"{ELECTRICITY}.cost")
            for pair in (("resource type", name), ("resource", name))
        ),
        ("tariff", f"Flat rate of {ELECTRICITY} from 2014-01-06"),
        *(pair for name in (GAS, f"{GAS}.cost", EXPORT) for pair in (("resource type", name), ("resource", name))),
        *OF_A_HOUSEHOLD,
        ("alert rule", "Electricity above 15 kWh in 24 hours (off)"),
        ("home type", "Home"),
        ("home", HOME),
    ]
    assert set(first["secrets"]) == {"username", "secret", "password"}
    assert first["next"] == [
        "wattgate readings inspect readings.csv",
        f"wattgate readings import readings.csv --home '{HOME}' --electricity",
        f"wattgate home show '{HOME}'",
        f"wattgate alert add --home '{HOME}' --above 15",
        "wattgate serve",
    ]
    records = all_records(command_on_empty)
    second = create(command_on_empty, **options)
    assert (second["schemaCreated"], created(second), second["secrets"]) == (False, [], {})
    kept = {"application", "user", "tariff", "resource", "home", "alert type", "template", "terms"}
    assert [record["id"] for record in second["records"]] == [
        record["id"] for record in first["records"] if record["kind"] in kept
    ]
    assert (second["applicationId"], second["veId"]) == (first["applicationId"], first["veId"])
    assert all_records(command_on_empty) == records


def test_the_owner_can_log_in_and_sees_the_home_with_its_tariff(command: Command) -> None:
    setup = create(command, **FLAT)
    (user,) = listed(command, "user", "list")
    assert (user["username"], user["status"], user["administrator"]) == (USER, "active", False)
    home = listed(command, "home", "show", HOME)
    assert (home["name"], home["user"], home["timeZone"], home["veId"]) == (HOME, USER, ZONE, setup["veId"])
    tariffs = {resource["classifier"]: resource["tariff"] for resource in home["resources"]}
    assert tariffs == {ELECTRICITY: "Flat rate", f"{ELECTRICITY}.cost": "Flat rate"}
    assert {resource["mpxn"] for resource in home["resources"]} == {MPAN}


def test_consent_and_tenancy_are_recorded_once_for_each_meter_point(command: Command) -> None:
    setup = create(command, **FLAT, gas=MPRN)
    create(command, **FLAT, gas=MPRN)
    system = Principal(Role.SYSTEM, application_id=setup["applicationId"])
    receipts = run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(consent_receipts, system, {})))
    assert sorted((receipt.mpxn, receipt.kind, receipt.basis) for receipt in receipts) == [
        (MPAN, ConsentChangeKind.GRANT, ConsentBasis.OPERATOR),
        (MPRN, ConsentChangeKind.GRANT, ConsentBasis.OPERATOR),
    ]
    stays = run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(tenancies, system, {})))
    assert sorted((stay.mpxn, stay.proof, stay.began_at, stay.ended_at) for stay in stays) == [
        (number, TenancyProof.OPERATOR, None, None) for number in (MPAN, MPRN)
    ]


@pytest.mark.long("many commands in a row; each of them runs in a shorter test")
def test_every_act_is_in_the_audit_log(command: Command) -> None:
    setup = create(command, **FLAT)
    exported = command("audit", "export", "--application", setup["applicationId"])
    acts = [json.loads(line)["operation"] for line in exported.out.splitlines()]
    types = ["createResourceType", "createResource"] * 2
    alerts = ["createAlertType"] * 3 + ["createTemplate"] * 6 + ["createTermsConditions"] * 2 + ["createAlertRule"]
    assert acts == [
        *("createApplication", "createUser", *types, "setTariff"),
        *(*alerts, "createHomeType", "createHome"),
    ]
    assert command("audit", "verify").status == 0


def test_text_output_names_ids_secrets_and_next_commands(command: Command) -> None:
    shown = command(*arguments(**FLAT))
    assert shown.status == 0, shown.error
    ids = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", shown.out)
    assert len(ids) == 10
    assert re.search(r"Basic credential of the application: my-app:\S{20,}", shown.out)
    assert re.search(rf"Password of {USER}: [{ALPHABET}]{{4}}(-[{ALPHABET}]{{4}}){{3}}\n", shown.out)
    for text in ("wattgate readings import readings.csv --home", "wattgate home show", "wattgate serve", "/display"):
        assert text in shown.out
    again = command(*arguments(**FLAT))
    assert "Nothing was changed" in again.out
    assert "Shown only once" not in again.out


def test_an_interrupted_run_is_completed_by_the_next(command: Command) -> None:
    create(command)
    completed = create(command, **FLAT, gas=MPRN, export=EXPORT_MPAN)
    names = [name for kind, name in created(completed) if kind == "resource"]
    assert names == [GAS, f"{GAS}.cost", EXPORT]
    assert ("tariff", f"Flat rate of {ELECTRICITY} from 2014-01-06") in created(completed)
    assert len(listed(command, "home", "show", HOME)["resources"]) == 5
    assert created(create(command, **FLAT, gas=MPRN, export=EXPORT_MPAN)) == []


def test_an_error_in_the_middle_loses_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = command_in(tmp_path, monkeypatch, capsys)
    assert command("db", "upgrade").status == 0
    execute(tmp_path, "CREATE TRIGGER full BEFORE INSERT ON resource BEGIN SELECT RAISE(ABORT, 'full'); END")
    failed = command(*arguments())
    assert failed.status == 1
    assert re.search(r"Basic credential of the application: my-app:\S{20,}", failed.error)
    assert re.search(rf"Password of {USER}: [{ALPHABET}-]{{19}}", failed.error)
    execute(tmp_path, "DROP TRIGGER full")
    completed = create(command)
    kinds = [kind for kind, name in created(completed) if (kind, name) not in OF_A_HOUSEHOLD]
    assert kinds == ["resource", "resource type", "resource", "alert rule", "home type", "home"]
    assert completed["secrets"] == {}


def test_a_closed_resource_gets_a_successor_with_its_own_cost(command: Command) -> None:
    first = resource_ids(create(command, **FLAT, gas=MPRN))
    change = {"resource_id": first[ELECTRICITY], "input": ResourceChange(active=False)}
    application_id = listed(command, "app", "list")[0]["applicationId"]
    system = Principal(Role.SYSTEM, application_id=application_id)
    run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(update_resource, system, change)))
    setup = create(command, **FLAT, gas=MPRN)
    second = resource_ids(setup)
    assert [name for kind, name in created(setup) if kind == "resource"] == [ELECTRICITY, f"{ELECTRICITY}.cost"]
    assert {name for name in first if first[name] == second[name]} == {GAS, f"{GAS}.cost"}
    wanted = {"resource_ids": list(second.values())}
    stored = run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(resources_by_id, system, wanted)))
    assert {resource.classifier: resource.cost_of for resource in stored if resource.cost_of} == {
        f"{name}.cost": second[name] for name in (ELECTRICITY, GAS)
    }
    assert created(create(command, **FLAT, gas=MPRN)) == []


def resource_ids(setup: dict[str, Any]) -> dict[str, str]:
    """Return the IDs of the resources of a home, by classifier."""
    return {record["name"]: record["id"] for record in setup["records"] if record["kind"] == "resource"}


@pytest.mark.long("many commands in a row; each of them runs in a shorter test")
def test_next_commands_name_the_user_if_another_one_has_a_home_of_the_name(command: Command, tmp_path: Path) -> None:
    assert create(command)["next"][2] == f"wattgate home show '{HOME}'"
    second = create(command, user="bo@mine.example", electricity=OTHER_MPAN)
    first = create(command)
    (tmp_path / "readings.csv").write_text("at,value\n2026-02-01T00:00:00Z,1\n")
    for setup in (first, second):
        _, importing, showing, *_ = (shlex.split(line)[1:] for line in setup["next"])
        outcome = command(*importing)
        assert outcome.status == 0, outcome.error
        assert listed(command, *showing)["veId"] == setup["veId"]
    third = create(command, user="cy@mine.example", electricity=EXPORT_MPAN, name="Third")
    assert third["next"][2] == "wattgate home show Third"


def test_types_are_shared_and_live_homes_have_their_own(command: Command) -> None:
    create(command)
    second = create(command, user="bo@mine.example", electricity=OTHER_MPAN)
    assert {kind for kind, _ in created(second)} == {"user", "resource", "alert rule", "home"}
    live = create(command, user="cy@mine.example", electricity=EXPORT_MPAN, live=True)
    assert [name for kind, name in created(live) if kind == "resource type"] == [ELECTRICITY]
    assert len(listed(command, "home", "list")) == 3


def test_a_home_has_the_meter_point_of_its_country(command: Command, subtests: pytest.Subtests) -> None:
    for zone, written, stored in (
        ("Europe/Paris", "12 345 678 901 234", "12345678901234"),
        ("Europe/Vienna", "AT 001000 00000 00000000000012345678", "AT0010000000000000000000012345678"),
        ("Europe/Brussels", "541448912345678906", "541448912345678906"),
        ("Australia/Sydney", "4102 0056 78", "4102005678"),
        ("Europe/Rome", "IT001E12345678", "IT001E12345678"),
    ):
        with subtests.test(zone):
            home = {"name": zone, "user": f"{zone.lower().replace('/', '.')}@mine.example", "time_zone": zone}
            create(command, electricity=written, **home)
            assert created(create(command, electricity=stored, **home)) == []
            outcome = command("home", "show", zone)
            assert outcome.status == 0, outcome.error
            assert stored in outcome.out


def test_an_application_is_found_by_name_or_id(command: Command) -> None:
    setup = create(command)
    assert created(create(command, application=setup["applicationId"])) == []
    unknown_id = command(*arguments(application=setup["applicationId"].translate(str.maketrans("0123", "1230"))))
    refused(unknown_id, "NOT_FOUND: No application has the name or ID", "wattgate app list")
    other = create(command, application="my APP!")
    assert other["applicationId"] != setup["applicationId"]
    assert other["secrets"]["username"] == "my-app-2"
    assert other["next"][1].endswith(f" --application {other['applicationId']}")
    assert [application["usernames"] for application in listed(command, "app", "list")] == [["my-app"], ["my-app-2"]]
    refused(command("home", "list"), "There are 2 applications", "--application", "'my APP!'")
    refused(command("user", "list", "--application", "Mine"), "No application", "wattgate app list")
    assert len(listed(command, "home", "list", "--application", APPLICATION)) == 1


def test_invalid_options_are_refused_before_the_database_is_touched(
    command_on_empty: Command, subtests: pytest.Subtests, tmp_path: Path
) -> None:
    invalid: list[tuple[dict[str, Any], list[str]]] = [
        ({"electricity": "230000000011"}, ["--electricity: ", "has 12 digits", "13", "2300000000116"]),
        ({"electricity": "23000000001166"}, ["--electricity: ", "has 14 digits, and an MPAN has 13"]),
        ({"electricity": "23OOOOOOOO116"}, ["--electricity: ", "is not a number"]),
        ({"electricity": ""}, ["--electricity: ", "is not a number"]),
        ({"electricity": "12-3", "time_zone": "Europe/Paris"}, ["123 has 3 digits and letters", "4 to 33"]),
        ({"electricity": "compteur", "time_zone": "Europe/Paris"}, ["'compteur' has no digit"]),
        ({"gas": "12345"}, ["--gas: ", "has 5 digits, and an MPRN has 6 to 10"]),
        ({"gas": "12345678901"}, ["--gas: ", "has 11 digits"]),
        ({"export": "230000000011"}, ["--export: ", "has 12 digits"]),
        ({"time_zone": "Europe/Londn"}, ["--time-zone: ", "Did you mean Europe/London?"]),
        ({"time_zone": "Mars/Phobos"}, ["--time-zone: 'Mars/Phobos' is not an IANA time zone"]),
        ({"user": "ada"}, ["--user: ", "Give an e-mail address"]),
        ({"name": " "}, ["--name: is empty"]),
        ({"name": "x" * 201}, ["--name: has 201 characters"]),
        ({"application": ""}, ["--application: is empty"]),
        ({"unit_rate": "0.245"}, ["--standing-charge: is missing"]),
        ({"standing_charge": "0.538"}, ["--unit-rate: is missing"]),
        ({"unit_rate": "cheap", "standing_charge": "1"}, ["--unit-rate: 'cheap' is not a decimal number"]),
        ({"unit_rate": "nan", "standing_charge": "1"}, ["--unit-rate: 'nan' is not a finite number"]),
        ({"unit_rate": "1", "standing_charge": "1e9"}, ["--standing-charge: ", "is not between"]),
        ({"currency": "XAU"}, ["--currency: XAU is not a currency of ISO 4217 in circulation"]),
        ({"time_zone": "UTC"}, ["--currency: is missing. No currency is known for UTC"]),
        (
            {"electricity": "1", "gas": "1", "time_zone": "London", "user": "x"},
            ["--electricity: ", "--gas: ", "--time-zone: ", "--user: "],
        ),
    ]
    for options, texts in invalid:
        with subtests.test(str(options)):
            refused(command_on_empty(*arguments(**options)), "Nothing was changed", *texts)
            assert not list(tmp_path.glob("*.sqlite3"))
            assert "run wattgate db upgrade" in command_on_empty("doctor").out
            for file in tmp_path.glob("*.sqlite3"):  # the doctor opens the database
                file.unlink()


def test_a_wrong_check_digit_is_a_warning(command: Command) -> None:
    outcome = command(*arguments(electricity="2300000000113", gas=MPRN), "--json")
    assert outcome.status == 0
    assert "--electricity 2300000000113: the check digit of this MPAN is wrong" in outcome.error
    assert json.loads(outcome.out)["veId"]
    assert "warning" not in command(*arguments(user="bo@mine.example", electricity=OTHER_MPAN)).error


def tariff_line(**members: Any) -> str:
    usual = {
        "kind": "FLAT",
        "name": "Fixed",
        "validFrom": "2025-01-01T00:00:00Z",
        "rate": "0.245",
        "standingCharge": "0.5",
    }
    return json.dumps({name: value for name, value in (usual | members).items() if value is not None})


def test_a_file_sets_the_tariffs_of_each_source(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "tariffs.jsonl"
    file.write_text(
        "\n".join(
            [
                tariff_line(),
                tariff_line(validFrom="2026-01-01T00:00:00Z", rate="0.26"),
                tariff_line(classifier=GAS, rate="0.061"),
                tariff_line(classifier=EXPORT, rate="0.15", standingCharge=None),
            ]
        )
    )
    options = {"gas": MPRN, "export": EXPORT_MPAN, "tariff": file}
    setup = create(command, **options)
    assert [name for kind, name in created(setup) if kind == "tariff"] == [
        f"Fixed of {ELECTRICITY} from 2025-01-01",
        f"Fixed of {ELECTRICITY} from 2026-01-01",
        f"Fixed of {GAS} from 2025-01-01",
        f"Fixed of {EXPORT} from 2025-01-01",
    ]
    assert created(create(command, **options)) == []
    file.write_text(file.read_text().replace("0.061", "0.062"))
    refused(command(*arguments(**options)), "--tariff: gas.consumption has another tariff from 2025-01-01, 'Fixed'")


def test_all_wrong_lines_of_a_file_are_refused_together(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "tariffs.jsonl"
    lines = {
        "{": "line 1: is not JSON",
        "[]": "line 2: is not a JSON object",
        json.dumps({"at": "2026-01-01T00:00:00Z", "rate": 1}): "line 3: has no `kind`",
        tariff_line(rate="much"): "line 4: rate",
        tariff_line(colour="green"): "line 5: ",
        tariff_line(resourceId="x"): "line 6: has a `resourceId`",
        tariff_line(classifier=GAS): f"line 7: classifier: '{GAS}' is not one of the home: {ELECTRICITY}",
        tariff_line(rate=None): "line 8: rate: is missing",
        tariff_line(validFrom="1999-01-01T00:00:00Z"): "line 9: validFrom",
        tariff_line(name="First"): "",
        tariff_line(name="Second"): "line 11: validFrom: another line has a tariff from the same instant",
    }
    file.write_text("\n".join(lines))
    refused(command(*arguments(tariff=file)), *lines.values())
    file.write_text("\n")
    refused(command(*arguments(tariff=file)), "--tariff: the file has no tariff")
    refused(command(*arguments(tariff=file, **FLAT)), "--tariff: cannot be used with --unit-rate")
    assert command(*arguments(tariff=tmp_path / "none")).status == 2


def test_a_flat_tariff_in_pence_is_refused(command: Command) -> None:
    """Bills and earlier versions state pence. A hundredfold cost would look like a fault of the gateway."""
    refused(
        command(*arguments(unit_rate="24.5", standing_charge="0.538")),
        "--unit-rate",
        "more than 5 GBP. 24.5 pence are 0.245 GBP",
    )
    refused(command(*arguments(unit_rate="0.245", standing_charge="53.8")), "--standing-charge", "more than 20 GBP")


def test_a_file_has_a_bounded_number_of_tariffs(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "tariffs.jsonl"
    file.write_text("\n".join(tariff_line(validFrom=f"2025-01-01T00:00:{n % 60:02d}.{n:04d}Z") for n in range(1_001)))
    refused(command(*arguments(tariff=file)), "the file has more than 1,000 tariffs")


def test_a_meter_point_of_another_user_or_home_is_refused(command: Command) -> None:
    create(command)
    records = all_records(command)
    another_user = command(*arguments(user="bo@mine.example"))
    refused(another_user, f"--electricity: the meter point {MPAN} belongs to the user {USER}", "Nothing was changed")
    another_home = command(*arguments(name="Second"))
    refused(another_home, f"--electricity: the meter point {MPAN} belongs to the home '{HOME}' of the user")
    refused(command(*arguments(user="bo@mine.example", electricity=OTHER_MPAN, export=MPAN)), "--export: ", USER)
    assert all_records(command) == records


def test_another_application_may_have_the_same_meter_point_and_user(command: Command) -> None:
    first, second = create(command), create(command, application="Other app")
    assert first["veId"] != second["veId"]
    assert ("user", USER) in created(second)


def test_a_closed_home_is_opened_again(command: Command) -> None:
    first = create(command, **FLAT)
    close(command, first["veId"])
    again = create(command, **FLAT)
    assert (again["veId"], created(again)) == (first["veId"], [])
    assert [home["veId"] for home in listed(command, "home", "list")] == [first["veId"]]


@pytest.mark.long("many commands in a row; each of them runs in a shorter test")
def test_meter_point_and_user_are_free_after_an_erasure(command: Command, tmp_path: Path) -> None:
    first = create(command, **FLAT)
    archive = tmp_path / "ada.zip"
    exported = command("user", "export", USER, str(archive))
    assert (exported.status, archive.stat().st_mode & 0o777) == (0, 0o600), exported.error
    refused(command("user", "export", USER, str(archive)), "exists. Give the name of a new file")
    with zipfile.ZipFile(archive) as content:
        assert USER in content.read("records/account.json").decode()
    erased = command("user", "erase", USER, "--yes", "--json")
    assert erased.status == 0, erased.error
    assert {"table": "account", "action": "REPLACED", "records": 1} in [
        {name: entry[name] for name in ("table", "action", "records")} for entry in json.loads(erased.out)
    ]
    refused(command("user", "erase", USER, "--yes"), "No user has the name or ID 'ada@mine.example'")
    again = create(command, **FLAT)
    assert [kind for kind, _ in created(again)] == ["user", "resource", "resource", "tariff", "alert rule", "home"]
    assert again["veId"] != first["veId"]


def close(command: Command, ve_id: str) -> None:
    application_id = listed(command, "app", "list")[0]["applicationId"]
    system = Principal(Role.SYSTEM, application_id=application_id)
    closing = {"ve_id": ve_id}
    run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(deactivate_virtual_entity, system, closing)))


def test_a_home_that_exists_differently_is_refused(command: Command) -> None:
    create(command, **FLAT)
    records = all_records(command)
    name = f"the home '{HOME}' exists and has the"
    refused(command(*arguments(electricity=OTHER_MPAN)), f"--electricity: {name} meter point {MPAN}")
    refused(command(*arguments(time_zone="Europe/Paris")), f"--time-zone: {name} time zone {ZONE}")
    refused(command(*arguments(live=True)), "--live: ", "exists without fields for live values")
    other_rate = command(*arguments(**{**FLAT, "unit_rate": "0.25"}))
    refused(other_rate, "has another tariff from 2014-01-06, 'Flat rate'", "wattgate tariff import")
    assert all_records(command) == records


def test_a_database_of_another_version_is_not_upgraded(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    create(command)
    monkeypatch.setattr("wattgate.db.migrate.NEWEST_REVISION", "9999")
    refused(command(*arguments()), "has the schema of another version. Run `wattgate db upgrade` first")


def test_home_is_shown_by_name_or_id_and_an_ambiguous_name_is_refused(command: Command) -> None:
    first = create(command)
    second = create(command, user="bo@mine.example", electricity=OTHER_MPAN)
    refused(command("home", "show", HOME), "Several homes have the name", first["veId"], second["veId"], USER)
    assert listed(command, "home", "show", HOME, "--user", USER.upper())["veId"] == first["veId"]
    assert listed(command, "home", "show", second["veId"])["user"] == "bo@mine.example"
    refused(command("home", "show", "None"), "No active home has the name or ID 'None'", "wattgate home list")
    refused(command("home", "show", HOME, "--user", "cy@mine.example"), "No active home of user 'cy@mine.example'")
    shown = command("home", "show", second["veId"])
    assert re.search(rf"{ELECTRICITY}\s+[0-9a-f-]{{36}}\s+{OTHER_MPAN}", shown.out)


def test_lists_are_tables_with_a_limit(command_on_empty: Command) -> None:
    for words in (("app", "list"), ("user", "list"), ("home", "list"), ("home", "show", HOME)):
        outcome = command_on_empty(*words)  # a file of SQLite is missing, a database of PostgreSQL is empty
        refused(outcome, "`wattgate db upgrade`")
    assert command_on_empty("db", "upgrade").status == 0
    refused(command_on_empty("home", "list"), "The database has no application", "wattgate home create")
    assert command_on_empty("app", "list").error == "There are none."
    create(command_on_empty)
    create(command_on_empty, user="bo@mine.example", electricity=OTHER_MPAN)
    for words in (("app", "list"), ("user", "list"), ("home", "list")):
        assert "…" not in command_on_empty(*words).out
    limited = command_on_empty("user", "list", "--limit", "1")
    assert "More than 1 records" in limited.error
    assert len(limited.out.splitlines()) == 2
    assert len(listed(command_on_empty, "user", "list", "--limit", "1")) == 1
    assert command_on_empty("user", "list", "--limit", "0").status == 2


@pytest.mark.parametrize(
    "words", [arguments(), ["home", "list"], ["user", "list"], ["app", "list"]], ids=lambda w: w[0]
)
def test_database_that_does_not_answer_is_reported(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = command_in(tmp_path, monkeypatch, capsys)
    outcome = command(*words, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    refused(outcome, "UNAVAILABLE: The database does not answer: ", "Check WATTGATE_DATABASE_URL", "wattgate doctor")


def test_generated_passwords_can_be_typed_and_differ() -> None:
    passwords = {generate_password() for _ in range(100)}
    assert len(passwords) == 100
    assert all(re.fullmatch(rf"[{ALPHABET}]{{4}}(-[{ALPHABET}]{{4}}){{3}}", password) for password in passwords)
    assert not set("il10o") & set(ALPHABET)


def run_on_terminal(folder: Path, answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Run `home create` on a terminal, and answer each question. Return the exit status and the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "wattgate", *arguments()])  # noqa: S606 (no shell is needed)
    screen, unanswered, waiting = "", "", list(answers)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if waiting and waiting[0][0] in unanswered and not termios.tcgetattr(terminal)[3] & termios.ECHO:
            os.write(terminal, f"{waiting.pop(0)[1]}\n".encode())
            unanswered = ""
        try:
            if select.select([terminal], [], [], 0.1)[0]:
                received = os.read(terminal, 4096).decode()
                screen, unanswered = screen + received, unanswered + received
        except OSError:  # the command has closed the terminal
            break
    assert not waiting, screen
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen


@pytest.mark.long("many commands in a row; each of them runs in a shorter test")
def test_terminal_asks_for_the_password_and_prints_its_rule(tmp_path: Path) -> None:
    question = f"Password for {USER} (Enter generates one)"
    answers = [
        (question, "short"),
        (question, "correct horse"),
        ("Repeat the password", "corect horse"),
        (question, "correct horse"),
        ("Repeat the password", "correct horse"),
    ]
    status, screen = run_on_terminal(tmp_path, answers)
    assert status == 0, screen
    assert "Use at least 8 characters." in screen
    assert "The passwords differ." in screen
    assert "Password of" not in screen
    assert "correct horse" not in screen


async def set_revision(revision: str) -> None:
    """Let the database have the schema of a revision, as far as it says."""

    async def change(database: Database) -> None:
        async with database.engine.begin() as connection:
            await connection.execute(
                sqlalchemy.text("UPDATE alembic_version SET version_num = :name"), {"name": revision}
            )

    await with_database(Settings(), change)


def test_the_demonstration_leaves_production_and_other_databases_alone(command: Command, tmp_path: Path) -> None:
    """Its log-ins are known to everybody. The settings can be in a file, and a database can be of another version."""
    outcome = command("demo", ENVIRONMENT="production")
    assert (outcome.status, "WATTGATE_ENVIRONMENT is production" in outcome.error) == (1, True), outcome.error
    (tmp_path / ".env").write_text("export WATTGATE_ENVIRONMENT='production'\n")
    assert "WATTGATE_ENVIRONMENT is production" in command("demo").error
    (tmp_path / ".env").unlink()
    run_async(set_revision("of another version"))
    outcome = command("demo", ENVIRONMENT="development")
    assert (outcome.status, "is not one of a demonstration" in outcome.error) == (1, True), outcome.error
    run_async(set_revision(NEWEST_REVISION))
    create(command)
    outcome = command("demo", ENVIRONMENT="development")
    assert (outcome.status, "is not one of a demonstration" in outcome.error) == (1, True), outcome.error
    applications = json.loads(command("app", "list", "--json").out)
    assert "demo" not in str(applications).lower()


@pytest.mark.every_case("each is another source of the culture")
@pytest.mark.parametrize(
    ("zone", "machine", "expected"),
    [
        ("Europe/London", "C.UTF-8", "en-GB"),
        ("Europe/Paris", "en_US.UTF-8", "fr-FR"),
        ("America/Toronto", "fr_FR.UTF-8", "fr-CA"),
        ("America/Toronto", "de_DE.UTF-8", "en-CA"),
        ("Asia/Kathmandu", "C", "ne-NP"),
        ("UTC", "de_AT.UTF-8@euro", "de-AT"),
        ("Etc/UTC", "POSIX", "en-GB"),
    ],
)
def test_default_culture_is_that_of_the_zone_or_the_machine(zone: str, machine: str, expected: str) -> None:
    assert default_culture(zone, machine).culture == expected


def test_every_zone_of_a_country_has_its_culture() -> None:
    unknown = {"Antarctica", "Etc", "SystemV"}
    places = [zone for zone in available_timezones() if "/" in zone and zone.partition("/")[0] not in unknown]
    without = {zone for zone in places if default_culture(zone, "C") is UNCHOSEN_CULTURE}
    assert len(without) < 10, without  # zones that are newer than the data of Babel, or of no people


def test_every_zone_of_a_country_has_its_currency() -> None:
    """Babel's data still have the lev for Bulgaria, which ISO 4217 does not list any more."""
    places = [zone for zone in available_timezones() if default_culture(zone, "C") is not UNCHOSEN_CULTURE]
    assert {zone for zone in places if default_currency(zone) is None} <= {"Europe/Sofia"}
    zones = ("Europe/London", "Europe/Oslo", "Asia/Tokyo", "Asia/Kuwait", "Australia/Sydney", "US/Eastern")
    assert [default_currency(zone) for zone in zones] == ["GBP", "NOK", "JPY", "KWD", "AUD", "USD"]


def test_culture_is_chosen_or_that_of_the_zone_and_reported(command: Command) -> None:
    shown = command(*arguments(time_zone="Europe/Paris", **FLAT))
    assert "Messages are in fr-FR (of Europe/Paris). Use --culture for another one." in shown.out
    assert "Prices are in EUR." in shown.out
    assert "Messages are in" not in command(*arguments(time_zone="Europe/Paris", **FLAT)).out
    other = create(command, user="zoe@mine.example", electricity=OTHER_MPAN, culture="FR-ca")
    assert other["culture"] == "fr-CA"
    create(command, user="zoe@mine.example", electricity=OTHER_MPAN, culture="fr-CA")
    changed = command(*arguments(user="zoe@mine.example", electricity=OTHER_MPAN, culture="en-GB"))
    refused(changed, "--culture: the user zoe@mine.example exists and has the culture fr-CA", "updateUser")
    refused(command(*arguments(culture="english, please")), "--culture: 'english, please' is not a language")

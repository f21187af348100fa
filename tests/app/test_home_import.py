"""`wattgate readings import --home`: the home and the resources that a file means, units, and the dry run."""

import io
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, event
from strawberry import ID
from typer.testing import CliRunner

from tests.support.command import wattgate
from tests.support.house import PASSWORD, Tenant, settle, tenant_on
from wattgate.app.cli.main import app
from wattgate.app.homes.home_selection import HomeChoice, Meter, find_home, resources_of_home
from wattgate.db import models
from wattgate.energy.meters.meter_points import check_digit
from wattgate.energy.meters.unit_conversion import GasProperties
from wattgate.errors import BadInput, NotFound
from wattgate.operations.accounts import provisioning
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.readings.files.file_import import ImportReport, import_csv
from wattgate.operations.readings.files.file_targets import UnitOptions
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.principal import Permission, Principal, Role

MPAN_CORE, MPRN = "120001234567", "3012345678"
MPAN = MPAN_CORE + check_digit(MPAN_CORE)
EXPORT_MPAN = "1200098765430"
AT = "2026-02-01T00:00:00Z"


@dataclass
class Home:
    """A home with electricity, export, gas in kWh and m3, and recorded costs of its electricity."""

    tenant: Tenant
    ve_id: str
    name: str
    resource_ids: dict[str, str]

    async def stored(self, classifier: str, field: str | None = None) -> list[float]:
        readings = await self.tenant.run("raw_readings", resource_id=self.resource_ids[classifier], field=field)
        return list(readings.value)

    async def import_text(
        self, text: str, *, meter: Meter | None = None, resource_id: str | None = None, **options: Any
    ) -> tuple[ImportReport, dict[int, str]]:
        """Import a file for the home. Return the report and the refused lines."""
        choice = HomeChoice(self.ve_id, meter=meter, resource_id=resource_id)
        runner, refused = self.tenant.gateway.runner, dict[int, str]()
        home = await find_home(runner, choice)
        report = await import_csv(
            io.BytesIO(text.encode()),
            run=runner.run_as(self.tenant.system),
            resource_id=None,
            zone=UTC,
            refuse=refused.__setitem__,
            progress=lambda done: None,
            home=await resources_of_home(runner, home, choice),
            **options,
        )
        return report, refused


async def add_resource(tenant: Tenant, classifier: str, mpxn: str, *fields: tuple[str, str, str], **values: Any) -> str:
    new_type = resource_types.NewResourceType(
        name=classifier,
        classifier=classifier,
        storage=[
            resource_types.NewStorageDefinition(
                type="timeseries",
                sampling="regular",
                start="2014-01-06T00:00:00Z",
                fields=[resource_types.NewStorageField(field_name=n, unit=u, datatype=d) for n, u, d in fields],
            )
        ],
    )
    type_id = (await tenant.run("add_resource_type", input=new_type)).resource_type_id
    resource = resource_types.NewResource(resource_type_id=type_id, name=classifier, mpxn=mpxn, **values)
    return str((await tenant.run("add_resource", input=resource)).resource_id)


async def add_home(tenant: Tenant, name: str, *resource_ids: str, time_zone: str | None = None) -> str:
    home = home_types.NewVirtualEntity(
        ve_type_id=ID(tenant.ids["virtual_entity_type"]),
        name=name,
        time_zone=time_zone,
        resources=[home_types.OwnedResource(resource_id=ID(id_)) for id_ in resource_ids],
    )
    return str((await tenant.run("add_virtual_entity", input=home)).ve_id)


async def furnish(tenant: Tenant, name: str) -> Home:
    energy = "ENERGY", "kWh", "fixedpoint(3)"
    ids = {
        "electricity.consumption": await add_resource(tenant, "electricity.consumption", MPAN, energy),
        "electricity.export": await add_resource(tenant, "electricity.export", EXPORT_MPAN, energy),
        "gas.consumption": await add_resource(
            tenant, "gas.consumption", MPRN, ("ENERGY", "kWh", "fixedpoint(3)"), ("VOLUME", "m3", "fixedpoint(3)")
        ),
    }
    ids["electricity.consumption.cost"] = await add_resource(
        tenant, "electricity.consumption.cost", MPAN, ("COST", "pence", "fixedpoint(4)"), cost_of=None
    )
    return Home(tenant, await add_home(tenant, name, *ids.values()), name, ids)


@pytest.fixture
async def tenant(database_url: str) -> AsyncIterator[Tenant]:
    async with tenant_on(database_url) as tenant:
        yield tenant


@pytest.fixture
async def home(settled: Tenant) -> Home:
    return await furnish(settled, "Alder Road")


async def run_import(database_url: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return await wattgate(database_url, "readings", "import", str(file), *options)


@pytest.mark.parametrize("descending", [False, True])
async def test_year_of_a_home_in_its_own_local_time_is_exact(
    tenant: Tenant, database_url: str, tmp_path: Path, descending: bool
) -> None:
    zone = ZoneInfo("Australia/Lord_Howe")
    resource_id = await tenant.add_resource()
    await add_home(tenant, "Lagoon Road", resource_id, time_zone=zone.key)
    start, end = (datetime(year, 1, 1, tzinfo=zone).astimezone(UTC) for year in (2025, 2026))
    instants = [start + n * timedelta(minutes=30) for n in range((end - start) // timedelta(minutes=30))]
    rows = [
        f"{instant.astimezone(zone).replace(tzinfo=None)};{(n * 7919) % 2500 / 1000}"
        for n, instant in enumerate(instants)
    ]
    file = tmp_path / "year.csv"
    file.write_bytes("\r\n".join(["\ufefflocalTime;value", *(rows[::-1] if descending else rows)]).encode())
    result = await run_import(database_url, file, "--home", "Lagoon Road", "--dry-run")
    assert result.returncode == 0, result.stderr
    assert (
        "Dry run: nothing is stored.\n17,520 readings would be recorded from 17,520 lines, 0 refused" in result.stdout
    )
    assert "17,520 new, 0 with another value than the stored one, 0 stored already" in result.stdout
    assert (await tenant.run("raw_readings", resource_id=resource_id)).stored == []
    result = await run_import(database_url, file, "--home", "Lagoon Road")
    assert result.returncode == 0, result.stderr
    assert "17,520 readings recorded from 17,520 lines, 0 refused, 0 repeated exactly" in result.stdout
    total = sum((n * 7919) % 2500 for n in range(17_520))
    assert (
        "electricity.consumption ENERGY: 17,520 readings from 2024-12-31T13:00:00.000Z to 2025-12-31T12:30:00.000Z, "
        f"sum {total // 1000:,}.{total % 1000:03d} kWh"
    ) in result.stdout
    stored: dict[str, float] = {}
    page_start: datetime | None = start
    while page_start:
        page = await tenant.run("raw_readings", resource_id=resource_id, start=page_start)
        stored |= dict(zip(page.at, page.value, strict=True))
        page_start = page.next
    expected = {f"{instant:%Y-%m-%dT%H:%M}:00.000Z": (n * 7919) % 2500 / 1000 for n, instant in enumerate(instants)}
    assert stored == expected


async def test_file_names_resources_by_meter_point_and_classifier(home: Home) -> None:
    lines = [
        "at,value,MPAN,mprn,classifier,field",
        f"{AT},1,{MPAN_CORE},,,",
        f"{AT},2,{EXPORT_MPAN},,,",
        f"{AT},3,,{MPRN},,",
        f"{AT},4,,,gas.consumption,VOLUME",
        f"{AT},5,,,,",
        f"{AT},6,,{MPRN},electricity.consumption,",
        f"{AT},7,12345678901234,,,",
        f"{AT},8,,,electricity.consumption.cost,ENERGY",
        f"{AT},9,2000000000000,,,",
    ]
    report, refused = await home.import_text("\n".join(lines))
    assert (report.recorded, sorted(refused)) == (4, [6, 7, 8, 9, 10])
    assert "which resource of home 'Alder Road' is meant is not clear: electricity.consumption (" in refused[6]
    assert "classifier electricity.consumption does not belong to home 'Alder Road', which has gas.cons" in refused[7]
    assert "meter point 12345678901234 does not belong to home 'Alder Road', which has" in refused[8]
    assert refused[9] == "the resource has no field ENERGY"
    assert (
        f"meter point 2000000000000 does not belong to home 'Alder Road', which has {MPAN}, {EXPORT_MPAN}, "
        in (refused[10])
    )
    assert await home.stored("electricity.consumption") == [1]
    assert await home.stored("electricity.export") == [2]
    assert await home.stored("gas.consumption") == [3]
    assert await home.stored("gas.consumption", "VOLUME") == [4]


async def test_lines_without_a_name_need_a_single_resource(home: Home) -> None:
    with pytest.raises(BadInput, match="No line of the file can be recorded: which resource of home 'Alder Road'"):
        await home.import_text(f"at,value\n{AT},1\n")
    for meter, value in ((Meter.ELECTRICITY, 1), (Meter.GAS, 2), (Meter.EXPORT, 3)):
        report, _ = await home.import_text(f"at,value\n{AT},{value}\n", meter=meter)
        assert report.recorded == 1
        assert await home.stored(meter.value) == [value]
    with pytest.raises(BadInput, match=f"{MPAN} does not belong to the selected part of home 'Alder Road', which has"):
        await home.import_text(f"at,value,mpan\n{AT},1,{MPAN}\n", meter=Meter.GAS)
    resource_id = home.resource_ids["gas.consumption"]
    report, _ = await home.import_text(f"at,value\n{AT},5\n", resource_id=resource_id)
    assert (report.replaced, await home.stored("gas.consumption")) == (1, [5])
    with pytest.raises(BadInput, match=r"Home 'Alder Road' has no resource 1-2-3\. It has: electricity\.consumption"):
        await home.import_text(f"at,value\n{AT},5\n", resource_id="1-2-3")


async def test_home_with_one_energy_resource_and_its_cost_needs_no_selection(settled: Tenant) -> None:
    resource_id = await settled.add_resource()
    cost_type = resource_types.NewResourceType(
        name="cost",
        classifier="electricity.consumption.cost",
        storage=[
            resource_types.NewStorageDefinition(
                type="timeseries",
                sampling="regular",
                start="2014-01-06T00:00:00Z",
                fields=[resource_types.NewStorageField(field_name="COST", unit="pence", datatype="integer")],
            )
        ],
    )
    type_id = (await settled.run("add_resource_type", input=cost_type)).resource_type_id
    cost = resource_types.NewResource(resource_type_id=type_id, name="cost", cost_of=ID(resource_id))
    cost_id = str((await settled.run("add_resource", input=cost)).resource_id)
    ve_id = await add_home(settled, "Mill Court", resource_id, cost_id)
    home = Home(settled, ve_id, "Mill Court", {"energy": resource_id})
    report, _ = await home.import_text(f"at,value\n{AT},1\n")
    assert (report.recorded, await home.stored("energy")) == (1, [1])
    with pytest.raises(BadInput, match="is computed from its consumption; record that"):
        await home.import_text(f"at,value,resourceId\n{AT},1,{cost_id}\n")


async def test_file_of_another_meter_is_refused(home: Home) -> None:
    lines = "".join(f"2026-02-0{day}T00:00:00Z,1,2000000000000\n" for day in range(1, 4))
    with pytest.raises(BadInput, match="meter point 2000000000000 does not belong to home 'Alder Road', which has 12"):
        await home.import_text("at,value,mpxn\n" + lines)
    other = await home.tenant.add_resource()
    with pytest.raises(BadInput, match=f"resource {other} does not belong to home 'Alder Road'"):
        await home.import_text(f"at,value,resourceId\n{AT},1,{other}\n")
    assert await home.stored("electricity.consumption") == []


@pytest.mark.parametrize(
    ("unit", "meter", "field", "value", "stored"),
    [
        ("Wh", Meter.ELECTRICITY, "", "1250", 1.25),
        ("kWh", Meter.ELECTRICITY, "", "1.25", 1.25),
        ("Wh", Meter.GAS, "", "7", 0.007),
        ("m3", Meter.GAS, "", "1.234", 13.846),
        ("m3", Meter.GAS, "VOLUME", "1.234", 1.234),
        ("kWh", Meter.GAS, "VOLUME", "13.846", 1.234),
    ],
)
async def test_values_are_converted_to_the_unit_of_the_field(
    home: Home, unit: str, meter: Meter, field: str, value: str, stored: float
) -> None:
    report, refused = await home.import_text(
        f"at,value,field\n{AT},{value},{field}\n", meter=meter, units=UnitOptions(unit)
    )
    assert (report.recorded, refused) == (1, {})
    assert await home.stored(meter.value, field or None) == [stored]


async def test_calorific_value_and_volume_correction_can_be_set(home: Home) -> None:
    units = UnitOptions("m3", GasProperties(Decimal("36"), Decimal(1)))
    await home.import_text(f"at,value\n{AT},2\n", meter=Meter.GAS, units=units)
    assert await home.stored("gas.consumption") == [20]


async def test_units_that_cannot_be_converted_are_refused_with_the_reason(home: Home) -> None:
    for meter in (Meter.ELECTRICITY, Meter.EXPORT):
        with pytest.raises(BadInput, match=f"m3 cannot be converted to kWh: only gas has a volume, .* {meter.value}"):
            await home.import_text(f"at,value\n{AT},2\n", meter=meter, units=UnitOptions("m3"))
    text = f"at,value,classifier\n{AT},2,gas.consumption\n{AT},3,electricity.consumption\n"
    report, refused = await home.import_text(text, units=UnitOptions("m3"))
    assert (report.recorded, list(refused)) == (1, [3])
    text = f"at,value,classifier\n{AT},2,electricity.consumption.cost\n"
    with pytest.raises(BadInput, match="kWh cannot be converted to pence, the unit of the field"):
        await home.import_text(text, units=UnitOptions("kWh"))
    _, refused = await home.import_text(f"at,value\n{AT},123.4\n", meter=Meter.ELECTRICITY, units=UnitOptions("Wh"))
    assert refused == {2: "0.1234 has more than the 3 decimal places of ENERGY"}


async def test_homes_of_the_same_name_are_refused_with_their_ids(tenant: Tenant) -> None:
    other = await settle(tenant.gateway, "other")
    runner = tenant.gateway.runner
    account = await runner.run(
        provisioning.create_user,
        Principal(Role.SYSTEM, application_id=tenant.application_id),
        {"username": "second@one.example", "password": PASSWORD},
    )
    second = Tenant(tenant.gateway, tenant.application_id, user_id=account.user_id, ids=tenant.ids)
    resource_ids = [await one.add_resource() for one in (tenant, second, other)]
    first_id, second_id, third_id = [
        await add_home(one, "Twin", id_) for one, id_ in zip((tenant, second, other), resource_ids, strict=True)
    ]
    with pytest.raises(BadInput, match="Several homes have the name 'Twin'") as refused:
        await find_home(runner, HomeChoice("Twin"))
    assert all(id_ in str(refused.value) for id_ in (first_id, second_id, third_id, "second@one.example"))
    with pytest.raises(BadInput) as refused:
        await find_home(runner, HomeChoice("Twin", application=tenant.application_id))
    assert third_id not in str(refused.value)
    for choice, ve_id in (
        (HomeChoice(second_id), second_id),
        (HomeChoice("Twin", application="other"), third_id),
        (HomeChoice("Twin", application=other.application_id), third_id),
        (HomeChoice("Twin", user="Second@one.example"), second_id),
        (HomeChoice("Twin", application="one", user=tenant.user_id), first_id),
    ):
        assert (await find_home(runner, choice)).ve_id == ve_id
    await tenant.run("deactivate_virtual_entity", ve_id=first_id)
    assert (await find_home(runner, HomeChoice("Twin", application="one"))).ve_id == second_id
    for choice in (
        HomeChoice("Twins"),
        HomeChoice(first_id),
        HomeChoice(third_id, application="one"),
        HomeChoice("Twin", user="nobody"),
    ):
        with pytest.raises(NotFound, match="has the name or ID"):
            await find_home(runner, choice)


async def test_only_the_named_application_is_searched(tenant: Tenant) -> None:
    others = [await settle(tenant.gateway, name) for name in ("other", "third")]
    for one in (tenant, *others):
        await add_home(one, "Twin", await one.add_resource())
    runner, statements = tenant.gateway.runner, list[str]()

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for name in ("other", tenant.application_id):
            statements.clear()
            await find_home(runner, HomeChoice("Twin", application=name))
            assert len([one for one in statements if "FROM virtual_entity" in one]) == 1
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    with pytest.raises(NotFound, match="No application has the name or ID 'fourth'"):
        await find_home(runner, HomeChoice("Twin", application="fourth"))


@operation(OperationKind.MUTATION, returns=str, needs=Permission.SYSTEM)
async def add_user_without_account(call: Call) -> str:
    """Add a user without an account, and return the ID."""
    return (await call.rows.add(models.User())).user_id


async def test_home_of_a_user_without_an_account_is_found_by_the_user_id(tenant: Tenant) -> None:
    user_id = await tenant.gateway.runner.run(add_user_without_account, tenant.system, {})
    lodger = Tenant(tenant.gateway, tenant.application_id, user_id=user_id, ids=tenant.ids)
    for one in (tenant, lodger):
        ve_id = await add_home(one, "Twin", await one.add_resource())
        assert (await find_home(tenant.gateway.runner, HomeChoice("Twin", user=one.user_id))).ve_id == ve_id


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "Use --home, or --application with the name or ID of an application."),
        (("--application", "1", "--gas"), "--user, --electricity, --gas and --export need --home."),
        (("--application", "1", "--user", "ada"), "--user, --electricity, --gas and --export need --home."),
        (("--home", "1", "--gas", "--export"), "Use only one of --electricity, --gas, --export and --resource."),
        (("--home", "1", "--gas", "--resource", "2"), "Use only one of --electricity, --gas, --export and --resource."),
        (("--home", "1", "--calorific-value", "40"), "--calorific-value and --volume-correction need --unit."),
        (("--home", "1", "--unit", "m3", "--calorific-value", "3"), "greater than or equal to 10"),
        (("--home", "1", "--unit", "litre"), "'litre' is not one of"),
        (("--home", "1", "--time-zone", "Europe/Leeds"), "'Europe/Leeds' is not an IANA time zone"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, options: tuple[str, ...], reason: str) -> None:
    file = tmp_path / "some.csv"
    file.write_text("at,value\n")
    result = CliRunner().invoke(app, ["readings", "import", str(file), *options])
    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.replace("│", " ").split())


async def test_command_refuses_empty_file_unknown_home_and_other_meter(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    await furnish(tenant, "Alder Road")
    file = tmp_path / "meter.csv"
    for content, name, reason in (
        ("", "Alder Road", "the header has no column `value`; add it"),
        ("at,value\n", "Elder Road", "No active home has the name or ID 'Elder Road'."),
        (f"at,value,mpan\n{AT},1,2000000000000\n", "Alder Road", "meter point 2000000000000 does not belong to home"),
    ):
        file.write_text(content)
        result = await run_import(database_url, file, "--home", name)
        assert result.returncode == 1
        assert reason in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr

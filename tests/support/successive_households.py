"""Homes in which three households live one after the other, each with marked records of its own.

Each household has lived at the meter point in its own ten days. Its readings and texts occur nowhere else, so a test
finds them in the answers to another household.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import combinations
from typing import Any
from uuid import uuid4

from tests.support import calls, metering
from tests.support.house import STORAGE, House, Tenant, operation
from tests.support.neighbour import add_answers, add_messages
from tests.support.people import paired_display
from tests.support.residents import resident
from tests.support.user_jobs import erased
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkRegister
from wattgate.enums import TariffKind
from wattgate.operations.types.homes.resources import NewResourceType

STAY = timedelta(days=10)
"""How long each household but the last one lives in the home."""

ENERGY = ("1.017", "20.29", "400.3")
"""The energy of each household in kWh. No sum of some of them equals one of others."""

POWER = (1_301, 22_702, 330_403)
REGISTERS = ("4711.017", "5811.029", "6911.041")

POSTCODE = "LS63QT"

MOVE, CLOSE_AND_ADD, ERASE_AND_ADD = "move", "close and add", "erase and add"
WAYS = (MOVE, CLOSE_AND_ADD, ERASE_AND_ADD)


@dataclass(frozen=True)
class Plan:
    """How a home changes hands. Moves that are reported late follow readings of the next household's time."""

    way: str = MOVE
    two_types: bool = True
    device_first: bool = False
    reported_late: bool = True

    @property
    def closes_first(self) -> bool:
        """Whether the former household closes its resources before the next one adds its own, and not by that."""
        return self.way == CLOSE_AND_ADD and self.two_types

    def __str__(self) -> str:
        types = "two types" if self.two_types else "one type"
        return f"{self.way}, {types}, {'device' if self.device_first else 'resource'} first"


@dataclass
class Household:
    """A household of a house: its user, its number in the order, and when it has lived there."""

    who: Tenant
    number: int
    since: datetime
    resources: list[str] = field(default_factory=list)
    left_hardware_ids: list[str] = field(default_factory=list)
    is_erased: bool = False

    @property
    def at(self) -> datetime:
        """The instant of its readings, in the middle of its stay."""
        middle = self.since + STAY / 2
        return middle.replace(minute=0, second=0, microsecond=0)

    @property
    def name(self) -> str:
        return f"household {self.number + 1}"

    @property
    def text(self) -> str:
        """A text in each of its records that has one."""
        return f"quuxotic{self.number}"


@dataclass
class HomeOfThree:
    """A home, its households in their order, and the device that each one passes on."""

    served: House
    plan: Plan
    mpxn: str
    eui: str
    hardware_id: str
    households: list[Household]

    @property
    def present(self) -> Household:
        return self.households[-1]

    @property
    def numbers(self) -> dict[str, str]:
        """Arguments that name the home to the meter network, by their names."""
        return {"mpxn": self.mpxn, "eui": self.eui, "postcode": POSTCODE}

    def traces(self, household: Household, answer: Any) -> list[str]:
        """Return what an answer to a household has of another one: ids, texts and values, also in sums."""
        others = [other for other in self.households if other is not household]
        known = set(household.who.ids.values())
        texts = {other.text for other in others}
        for other in others:
            texts |= {other.who.user_id, other.who.account_id, other.who.username}
            texts |= set(other.who.ids.values()) - known
        values = foreign_values(household.number)
        content = json.dumps(answer, default=str)
        return [text for text in texts if text in content] + [
            str(value) for value in numbers_in(content) if value in values
        ]

    def about_the_home(self, household: Household, variables: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of an example, with the numbers of this home instead of those of a new one."""
        of_home: dict[str, Any] = {"meterPointNumber": self.mpxn, "mpxn": self.mpxn, "mpxns": [self.mpxn]}
        of_home |= {"eui": self.eui, "hardwareId": self.hardware_id, "resourceId": household.resources[0]}
        if "range" in variables:  # of the stays of all households
            start, end = self.households[0].since, utc_now()
            of_home |= {"range": {"start": format_iso(start), "end": format_iso(end)}, "period": "P1D"}
        about = {name: of_home.get(name, value) for name, value in variables.items()}
        if isinstance(members := variables.get("input"), dict):
            about["input"] = {name: of_home.get(name, value) for name, value in members.items()}
        return about

    def has_own(self, household: Household, answer: Any) -> bool:
        """Return whether an answer to a household has something of its own."""
        own = {household.text, household.who.user_id, *household.resources, ENERGY[household.number]}
        content = json.dumps(answer, default=str)
        return any(value in content for value in own)


Settled = Callable[[HomeOfThree, Household], Awaitable[None]]


@cache
def foreign_values(number: int) -> frozenset[Decimal]:
    """Return the values of the households other than the one with this number, and their sums.

    A price of 100 pence for a kWh makes costs of the same digits.
    """
    found = {Decimal(value) for n, value in enumerate(REGISTERS) if n != number}
    for values in (ENERGY, POWER):
        for size in (1, 2, 3):
            for chosen in combinations(range(3), size):
                if chosen != (number,):
                    total = sum((Decimal(values[n]) for n in chosen), Decimal())
                    found |= {total, total * 100}
    return frozenset(found)


NUMBER = re.compile(r"(?<![\w.:-])-?\d+(?:\.\d+)?(?![\w:-])")
"""A number that is no part of an ID or an instant."""


def numbers_in(content: str) -> set[Decimal]:
    """Return the numbers in a JSON text, also those in its strings."""
    for escaped in ("\\n", "\\r", "\\t"):
        content = content.replace(escaped, " ")
    return {Decimal(digits) for digits in set(NUMBER.findall(content))}


async def home_of_three(
    served: House, plan: Plan, settled: Settled | None = None, arrived: Settled | None = None
) -> HomeOfThree:
    """Let three households live in a home, one after the other.

    `arrived` is called for each household when it has moved in and has no readings yet, and `settled` when it has its
    records, before the next one moves in.
    """
    first_day = utc_now().replace(minute=0, second=0, microsecond=0) - 3 * STAY
    mpxn, eui, hardware_id = str(uuid4().int)[:13], uuid4().hex[:16].upper(), uuid4().hex[:12].upper()
    place = HomeOfThree(served, plan, mpxn, eui, hardware_id, [])
    types = [served.one.ids["resource_type"]]
    if plan.two_types:
        live = NewResourceType(name="live power", classifier="electricity.power", storage=STORAGE)
        types.append((await served.one.run("add_resource_type", input=live)).resource_type_id)
    for number in range(3):
        who = await resident(served.one)
        who.ids = {**served.one.ids, "mpxn": mpxn}
        place.households.append(Household(who, number, first_day + number * STAY))
    await _add_network_records(place)
    for household in place.households:
        await (_move_in(place, types) if household.number == 0 else _change_hands(place, household, types))
        if arrived is not None:
            await arrived(place, household)
        await _settle(place, household)
        if settled is not None:
            await settled(place, household)
    return place


async def _add_network_records(place: HomeOfThree) -> None:
    half_hours = [
        reading
        for household in place.households
        for reading in metering.readings(place.mpxn, [ENERGY[household.number]], household.at)
    ]
    registers = [
        NetworkRegister(
            mpxn=place.mpxn,
            classifier="electricity.consumption",
            at=household.at,
            value=Decimal(REGISTERS[household.number]),
            unit="kWh",
        )
        for household in place.households[:-1]
    ]
    await metering.record(
        place.served.one,
        NetworkMeterPoint(mpxn=place.mpxn, postcode=POSTCODE, smets_version="2"),
        NetworkDevice(
            eui=place.eui,
            mpxn=place.mpxn,
            device_type="PPMID",
            commissioned_at=place.present.since,
            firmware_version=place.present.text,  # a trace in the inventory
        ),
        NetworkDevice(eui=uuid4().hex[:16].upper(), mpxn=place.mpxn, device_type="ESME"),
        *half_hours,
        *registers,
    )


async def _move_in(place: HomeOfThree, types: list[str]) -> None:
    first = place.households[0]
    first.resources = [await _add_resource(place, first, type_id) for type_id in types]
    await _add_device(place, first)
    await _connect_device(place, first)


async def _change_hands(place: HomeOfThree, household: Household, types: list[str]) -> None:
    """Let a household take over from the one before, by the way of the plan."""
    former = place.households[household.number - 1]
    if place.plan.way == ERASE_AND_ADD:
        await erased(former.who, former.who.user_id)
        former.is_erased = True
    if place.plan.device_first:
        await _hand_over_device(place, former, household)
    await _hand_over_resources(place, former, household, types)
    if not place.plan.device_first:
        await _hand_over_device(place, former, household)
    await _connect_device(place, household)


async def _hand_over_resources(
    place: HomeOfThree, former: Household, household: Household, types: Sequence[str]
) -> None:
    if place.plan.way == MOVE:
        body = {"userId": household.who.user_id, "movedInAt": format_iso(household.since)}
        household.resources = [
            (await _call(place, former, "PUT", f"/resource/{resource_id}/owner", "application", **body))["resourceId"]
            for resource_id in former.resources
        ]
        return
    if place.plan.closes_first:
        for resource_id in former.resources:
            await _call(place, former, "PUT", f"/resource/{resource_id}", active=False)
        assert await claim_status(place, former) == 403  # although its consent ends only when the next one moves in
    household.resources = [await _add_resource(place, household, type_id) for type_id in types]


async def _add_resource(place: HomeOfThree, household: Household, type_id: str) -> str:
    values = {"resourceTypeId": type_id, "name": "electricity", "mpxn": place.mpxn}
    values["movedInAt"] = format_iso(household.since)
    return str((await _call(place, household, "POST", "/resource", "acting", **values))["resourceId"])


async def _add_device(place: HomeOfThree, household: Household) -> None:
    """Add the device of the home to a household, without a resource that it feeds."""
    values: dict[str, Any] = {"deviceTypeId": household.who.ids["device_type"], "hardwareId": place.hardware_id}
    values["hardwareIds"] = {"MAC": place.hardware_id}
    household.who.ids["device"] = (await _call(place, household, "POST", "/device", "acting", **values))["deviceId"]


async def _connect_device(place: HomeOfThree, household: Household) -> None:
    """Let the device of a household feed its resources."""
    sensors = [{"protocolId": f"S{n}", "resourceId": feeding} for n, feeding in enumerate(household.resources)]
    change = {"protocol": {"sensors": sensors}}
    await _call(place, household, "PUT", f"/device/{household.who.ids['device']}", "acting", **change)


async def _hand_over_device(place: HomeOfThree, former: Household, household: Household) -> None:
    device_id = former.who.ids["device"]
    if place.plan.way == MOVE:
        body = {"userId": household.who.user_id}
        moved = await _call(place, former, "PUT", f"/device/{device_id}/owner", "application", **body)
        household.who.ids["device"] = moved["deviceId"]
    else:
        if place.plan.way == CLOSE_AND_ADD:
            await _call(place, former, "DELETE", f"/device/{device_id}")
        await _add_device(place, household)


async def _settle(place: HomeOfThree, household: Household) -> None:
    """Give a household records of every kind, all with its marks, also those that it has from the next one's time."""
    who, ids = household.who, household.who.ids
    ids["resource"] = household.resources[0]
    for resource_id in household.resources:
        await _call(place, household, "PUT", f"/resource/{resource_id}", "account", label=household.text)
        price = {"kind": TariffKind.FLAT, "rate": Decimal(100)}
        await who.set_tariff(resource_id, household.text, household.since, **price)
        await who.record(resource_id, (household.at, ENERGY[household.number]))
        await who.record(resource_id, (household.at, str(POWER[household.number])), field="POWER")
        if place.plan.reported_late and household is not place.present:
            following = place.households[household.number + 1]
            await who.record(resource_id, (following.at, ENERGY[following.number]))
            await who.record(resource_id, (following.at, str(POWER[following.number])), field="POWER")
    ids["virtual_entity"] = await who.add_home(*household.resources)
    _, ids["paired_display"] = await paired_display(who, ids["virtual_entity"])
    await _leave_devices(place, household)
    await who.run("verify_meter_point", mpxn=place.mpxn)
    await who.run("renew_consents", mpxns=[place.mpxn])
    receipts = await who.gateway.runner.run(operation("consent_receipts"), who.account, {})
    ids["consent_receipt"] = receipts[0].receipt_id
    ids["dfs_user"] = (await who.run("opt_in_to_dfs", mpxn=place.mpxn)).dfs_user_id
    await who.run("participate_in_dfs_event", dfs_event_id=ids["dfs_event"])
    await add_answers(who)
    await add_messages(who)


async def _leave_devices(place: HomeOfThree, household: Household) -> None:
    """Add two devices that stay in the home when a household leaves it, and a resource of its next flat.

    One feeds the resources of the home and of the flat. The other one fed that of the home, and now that of the flat.
    """
    ids, home = household.who.ids, {"protocolId": "S0", "resourceId": household.resources[0]}
    ids["flat"] = await household.who.add_resource()
    flat = {"protocolId": "S1", "resourceId": ids["flat"]}
    for name, sensors in (("left_device", [home, flat]), ("pointed_device", [home])):
        hardware_id = uuid4().hex[:12].upper()
        added: dict[str, Any] = {"deviceTypeId": ids["device_type"], "hardwareId": hardware_id, "hardwareIds": {}}
        added |= {"protocol": {"sensors": sensors}}
        ids[name] = (await _call(place, household, "POST", "/device", "acting", **added))["deviceId"]
        household.left_hardware_ids.append(hardware_id)
    pointed: dict[str, Any] = {"protocol": {"sensors": [flat]}}
    await _call(place, household, "PUT", f"/device/{ids['pointed_device']}", **pointed)


async def claim_status(place: HomeOfThree, household: Household) -> int:
    """Return the HTTP status of the account of a household that claims a device in the inventory of the home."""
    claimed = {"deviceTypeId": household.who.ids["device_type"], "hardwareId": place.eui, "hardwareIds": {}}
    answer = await place.served.call("POST", "/device", household.who.headers["account"], json=claimed)
    return int(answer.status_code)


async def report(place: HomeOfThree, hardware_id: str, at: datetime, watts: int) -> int:
    """Record a message of a device. Return the number of stored readings."""
    return await calls.report(place.served, place.served.one, hardware_id, at, watts)


async def _call(
    place: HomeOfThree, household: Household, method: str, path: str, caller: str = "account", **body: Any
) -> Any:
    more = {"json": body} if body else {}
    answer = await place.served.call(method, path, household.who.headers[caller], **more)
    assert answer.status_code < 300, (path, answer.text)
    return answer.json() if answer.content else None

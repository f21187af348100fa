"""Set up a home: add the records that are missing, by the operations that other callers use.

`set_up_home` checks everything before the first change. Each operation commits on its own, so the next run after an
interruption adds the records that are still missing.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial

from wattgate.app.homes.applications import find_application
from wattgate.app.homes.household_alerts import build_day_rule, ensure_alert_types, ensure_terms
from wattgate.app.homes.records import Note, find_or_add
from wattgate.app.homes.request import HomeRequest
from wattgate.app.homes.series import (
    HOME_TYPE_NAME,
    Series,
    build_home_type,
    build_resource,
    build_resource_type,
    find_operation,
    series_of,
)
from wattgate.app.homes.state import HomeState, find_conflicts, find_tariff, load_home_state
from wattgate.db.applications import ApplicationSummary
from wattgate.enums import RuleKind
from wattgate.errors import Conflict
from wattgate.operations import tariffs
from wattgate.operations.accounts import provisioning
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes import home_resources, resource_types, resources, virtual_entities
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Permission, Principal, Role

_SYMBOLS = re.compile(r"[^a-z0-9]+")

PREPARED_LIMIT = Decimal(15)
"""The limit of the rule that a new home has, in kWh in 24 hours: more than most households use on most days."""

DATA_SOURCE = "METER"
"""The `dataSourceType` of the resource types."""


@dataclass(frozen=True, slots=True)
class SetupRecord:
    """A record of a home, and whether this run created it."""

    kind: str
    name: str
    record_id: str
    created: bool


@dataclass(slots=True)
class HomeSetup:
    """The outcome: all records in the order of their creation, and the new credential if there is one.

    `application_count` is the number of applications in the database. `has_namesake` is whether another user of the
    application has a home of the same name.
    """

    application_id: str = ""
    ve_id: str = ""
    application_count: int = 0
    has_namesake: bool = False
    schema_created: bool = False
    credential: provisioning.CreatedApplication | None = None
    records: list[SetupRecord] = field(default_factory=list)

    @property
    def has_new_user(self) -> bool:
        """Whether this run created the user, so that its password is new."""
        return any(record.kind == "user" and record.created for record in self.records)

    def note(self, kind: str, name: str, record_id: str, *, created: bool) -> str:
        """Add a record and return its ID."""
        self.records.append(SetupRecord(kind, name, record_id, created))
        return record_id


async def set_up_home(
    runner: Runner,
    request: HomeRequest,
    setup: HomeSetup,
    choose_password: Callable[[], str],
    display_url: Callable[[], str],
) -> None:
    """Add the records that a home lacks, and note each in `setup`.

    `choose_password` returns the password of a new user, and `display_url` the link of mails. Raise Conflict, without a
    change, if stored records contradict the request. After another error, `setup` has the records that exist, and the
    secrets that no later run can show.
    """
    applications = await runner.list_applications()
    application = find_application(applications, request.application)
    state = HomeState()
    if application is not None:
        system = Principal(Role.SYSTEM, application_id=application.application_id)
        state = await runner.read(system, Permission.SYSTEM, partial(load_home_state, request=request))
    if problems := find_conflicts(state, request):
        raise Conflict("The home cannot be set up. Nothing was changed.", problems=problems)
    setup.has_namesake = state.has_namesake
    password = choose_password() if state.account is None else ""
    setup.application_id = await _ensure_application(runner, setup, request, application, applications)
    setup.application_count = len(applications) + (application is None)
    system = Principal(Role.SYSTEM, application_id=setup.application_id)
    address = display_url()

    async def ensure_household(note: Note) -> dict[RuleKind, str]:
        return await ensure_household_records(runner, system, address, note)

    await build_home(runner, request, state, setup, password, ensure_household)


EnsureHousehold = Callable[[Note], Awaitable[dict[RuleKind, str]]]
"""Adds the records that all homes of an application share. Returns the ID of the alert type of each kind of rule."""


async def ensure_household_records(
    runner: Runner, system: Principal, display_url: str, note: Note
) -> dict[RuleKind, str]:
    """Add the alert types, mails and terms of an application that are missing. Return the IDs of the alert types."""
    alert_types = await ensure_alert_types(runner, system, display_url, note)
    await ensure_terms(runner, system, note)
    return alert_types


async def build_home(
    runner: Runner,
    request: HomeRequest,
    state: HomeState,
    setup: HomeSetup,
    password: str | None,
    ensure_household: EnsureHousehold,
) -> str:
    """Add the records that a home of an application lacks, and note each in `setup`. Return the ID of its owner.

    The caller has checked that `state` does not contradict the request. A new user without a password sets one by mail.
    """
    return await _Builder(runner, request, state, setup).build(password, ensure_household)


async def _ensure_application(
    runner: Runner,
    setup: HomeSetup,
    request: HomeRequest,
    application: ApplicationSummary | None,
    applications: list[ApplicationSummary],
) -> str:
    if application is not None:
        return setup.note("application", application.name, application.application_id, created=False)
    arguments = {
        "name": request.application,
        "username": _free_username(request.application, applications),
        "culture_code": request.culture.culture,
    }
    created = await runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments)
    setup.credential = created
    return setup.note("application", request.application, created.application_id, created=True)


def _free_username(application_name: str, applications: list[ApplicationSummary]) -> str:
    """Return a username for the credential of a new application: its name, with a number if another one has it."""
    base = _SYMBOLS.sub("-", application_name.lower()).strip("-") or "application"
    taken = {username for application in applications for username in application.usernames}
    candidates = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


@dataclass(slots=True)
class _Builder:
    """Add the records of one home that are missing, in the order of their references."""

    runner: Runner
    request: HomeRequest
    state: HomeState
    setup: HomeSetup
    system: Principal = field(init=False)
    owner: Principal = field(init=False)

    def __post_init__(self) -> None:
        self.system = self.owner = Principal(Role.SYSTEM, application_id=self.setup.application_id)

    async def build(self, password: str | None, ensure_household: EnsureHousehold) -> str:
        self.owner = replace(self.system, user_id=await self._ensure_user(password))
        resource_ids: list[str] = []
        for classifier, number in self.request.meter_points.items():
            energy, *costs = series_of(classifier, self.request.currency)
            energy_id = await self._ensure_resource(energy, number)
            resource_ids.append(energy_id)
            resource_ids += [await self._ensure_resource(cost, number, cost_of=energy_id) for cost in costs]
            await self._ensure_tariffs(classifier, energy_id)
        alert_types = await ensure_household(self._note)
        if self.state.home is None and RuleKind.THRESHOLD in alert_types:
            await self._prepare_rule(alert_types[RuleKind.THRESHOLD], resource_ids[0])
        self.setup.ve_id = await self._ensure_home(resource_ids)
        return self.owner.user_id or ""

    def _note(self, kind: str, name: str, record_id: str, created: bool) -> None:
        self.setup.note(kind, name, record_id, created=created)

    async def _prepare_rule(self, alert_type_id: str, resource_id: str) -> None:
        """Add a rule that is turned off, for the household to turn on. A home that exists gets none again."""
        rule = build_day_rule(PREPARED_LIMIT, alert_type_id, resource_id, enabled=False)
        key = ("name", "resource_id")
        stored, created = await find_or_add(self.runner, self.owner, "alert_rules", "add_alert_rule", rule, *key)
        self.setup.note("alert rule", f"{stored.name} (off)", stored.rule_id, created=created)

    async def _ensure_user(self, password: str | None) -> str:
        account = self.state.account
        if account is not None:
            return self.setup.note("user", account.username, account.user_id, created=False)
        # without an option, the user has the culture of the application
        culture = self.request.culture.culture if self.request.has_chosen_culture else None
        arguments = {
            "username": self.request.username,
            "password": password,
            "name": self.request.person,
            "culture_code": culture,
        }
        created = await self.runner.run(provisioning.create_user, self.system, arguments)
        return self.setup.note("user", created.username, created.user_id, created=True)

    async def _ensure_resource(self, series: Series, number: str, *, cost_of: str | None = None) -> str:
        stored = self.state.find_resource(series, number, cost_of=cost_of)
        if stored is not None:
            return self.setup.note("resource", series.classifier, stored.resource_id, created=False)
        new_resource = build_resource(series, await self._ensure_type(series), number)
        if cost_of is not None:
            new_resource.cost_of = Id(cost_of)
        added = await self.runner.run(resources.add_resource, self.owner, {"input": new_resource})
        return self.setup.note("resource", series.classifier, added.resource_id, created=True)

    async def _ensure_type(self, series: Series) -> str:
        stored = self.state.find_type(series, live=self.request.live)
        if stored is not None:
            return self.setup.note("resource type", series.classifier, stored.resource_type_id, created=False)
        new_type = build_resource_type(series, live=self.request.live, source=DATA_SOURCE)
        added = await self.runner.run(resource_types.add_resource_type, self.system, {"input": new_type})
        return self.setup.note("resource type", series.classifier, added.resource_type_id, created=True)

    async def _ensure_tariffs(self, classifier: str, resource_id: str) -> None:
        for requested in self.request.tariffs:
            if requested.classifier != classifier:
                continue
            name = f"{requested.terms.name} of {classifier} from {requested.terms.valid_from:%Y-%m-%d}"
            stored = find_tariff(self.state, self.request, classifier, requested.terms)
            if stored is not None:
                self.setup.note("tariff", name, stored.tariff_id, created=False)
                continue
            new_tariff = replace(requested.new_tariff, resource_id=Id(resource_id))
            added = await self.runner.run(tariffs.set_tariff, self.owner, {"input": new_tariff})
            self.setup.note("tariff", name, added.tariff_id, created=True)

    async def _ensure_home(self, resource_ids: list[str]) -> str:
        home = self.state.home
        if home is None:
            return await self._add_home(resource_ids)
        if not home.active:
            change = home_types.VirtualEntityChange(active=True)
            arguments = {"ve_id": Id(home.ve_id), "input": change}
            await self.runner.run(virtual_entities.update_virtual_entity, self.system, arguments)
        present = {resource.resource_id for resource in self.state.home_resources}
        for resource_id in resource_ids:
            if resource_id not in present:
                arguments = {"ve_id": Id(home.ve_id), "resource_id": Id(resource_id)}
                await self.runner.run(home_resources.add_virtual_entity_resource, self.owner, arguments)
        return self.setup.note("home", home.name, home.ve_id, created=False)

    async def _add_home(self, resource_ids: list[str]) -> str:
        new_home = home_types.NewVirtualEntity(
            ve_type_id=Id(await self._ensure_home_type()),
            name=self.request.name,
            resources=[home_types.OwnedResource(resource_id=Id(resource_id)) for resource_id in resource_ids],
            time_zone=self.request.time_zone,
        )
        added = await self.runner.run(virtual_entities.add_virtual_entity, self.owner, {"input": new_home})
        return self.setup.note("home", self.request.name, added.ve_id, created=True)

    async def _ensure_home_type(self) -> str:
        stored = self.state.home_type
        if stored is not None:
            return self.setup.note("home type", stored.name, stored.ve_type_id, created=False)
        add_type = find_operation("add_virtual_entity_type")
        added = await self.runner.run(add_type, self.system, {"input": build_home_type()})
        return self.setup.note("home type", HOME_TYPE_NAME, added.ve_type_id, created=True)

"""The stored records that a new home uses, and the reasons for which it cannot be set up."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlmodel import col

from wattgate.app.homes.request import OPTIONS, HomeRequest
from wattgate.app.homes.series import HOME_TYPE_NAME, Series, series_of
from wattgate.db import models
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.db.queries.templates import user_culture
from wattgate.db.queries.virtual_entities import resources as resources_of_homes
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.energy.storage_fields import parse_fields
from wattgate.errors import Problem
from wattgate.operations.credentials.login import find_account


@dataclass(slots=True)
class HomeState:
    """The records of an application that belong to a requested home or conflict with it.

    `culture` is that of messages to the user. `homes` are the user's homes of this name, also closed ones. `resources`
    are the active resources at the meter points, of all users. `homes_by_resource` has the active homes of each of
    them, and `usernames` those of the owners. `has_namesake` is whether another user has an active home of this name.
    """

    account: models.Account | None = None
    culture: str | None = None
    homes: list[models.VirtualEntity] = field(default_factory=list)
    has_namesake: bool = False
    home_resources: list[models.Resource] = field(default_factory=list)
    resources: list[models.Resource] = field(default_factory=list)
    homes_by_resource: dict[str, list[models.VirtualEntity]] = field(default_factory=dict)
    usernames: dict[str, str] = field(default_factory=dict)
    resource_types: list[models.ResourceType] = field(default_factory=list)
    home_type: models.VirtualEntityType | None = None
    tariffs: list[models.Tariff] = field(default_factory=list)

    @property
    def home(self) -> models.VirtualEntity | None:
        """The active home of this name, or else the newest closed one, which is opened again."""
        return next((home for home in self.homes if home.active), self.homes[-1] if self.homes else None)

    def find_resource(self, series: Series, number: str, *, cost_of: str | None = None) -> models.Resource | None:
        """Return the user's resource of a series at a meter point, first one of the home.

        `cost_of` is the resource whose cost a computed one has, so that no cost of a closed resource is found.
        """
        found = [
            resource
            for resource in (*self.home_resources, *self.resources)
            if self.account is not None
            and resource.owner_id == self.account.user_id
            and resource.classifier == series.classifier
            and resource.cost_of == cost_of
            and canonical_meter_point(resource.mpxn or "") == number
        ]
        return found[0] if found else None

    def find_type(self, series: Series, *, live: bool) -> models.ResourceType | None:
        """Return the oldest resource type with the classifier, unit and live fields of a series."""
        wanted = set(series.live_fields) if live else set()
        for resource_type in self.resource_types:
            first, *others = parse_fields(resource_type.storage)
            names = {stored.name for stored in others}
            has_fields = wanted <= names if wanted else not names & set(series.live_fields)
            if resource_type.classifier == series.classifier and first.unit == series.unit and has_fields:
                return resource_type
        return None


async def load_home_state(rows: Rows, request: HomeRequest) -> HomeState:
    """Return the records that a requested home uses."""
    state = HomeState(account=await find_account(rows, request.username))
    if state.account is not None:
        state.culture = await user_culture(rows, await rows.get(models.User, state.account.user_id))
    spellings = {text for number in request.meter_points.values() for text in meter_point_spellings(number)}
    state.resources = await rows.all(
        models.Resource,
        col(models.Resource.mpxn).in_(spellings),
        col(models.Resource.active).is_(True),
        order_by=[models.Resource.number],
    )
    await _load_homes(rows, request, state)
    classifiers = [
        series.classifier for source in request.meter_points for series in series_of(source, request.currency)
    ]
    state.resource_types = await rows.all(
        models.ResourceType,
        col(models.ResourceType.classifier).in_(classifiers),
        col(models.ResourceType.active).is_(True),
        order_by=[models.ResourceType.created_at, models.ResourceType.resource_type_id],
    )
    state.home_type = await rows.first(
        models.VirtualEntityType,
        col(models.VirtualEntityType.name) == HOME_TYPE_NAME,
        col(models.VirtualEntityType.active).is_(True),
        order_by=[models.VirtualEntityType.created_at],
    )
    owned_ids = [resource.resource_id for resource in state.resources]
    state.tariffs = await rows.all(
        models.Tariff, col(models.Tariff.resource_id).in_(owned_ids), col(models.Tariff.superseded_at).is_(None)
    )
    return state


async def _load_homes(rows: Rows, request: HomeRequest, state: HomeState) -> None:
    home = models.VirtualEntity
    has_name = col(home.name) == request.name
    others = [has_name, col(home.active).is_(True)]
    if state.account is not None:
        user_id = state.account.user_id
        state.homes = await rows.all(home, has_name, col(home.owner_id) == user_id, order_by=[home.created_at])
        others.append(col(home.owner_id) != user_id)
    state.has_namesake = await rows.count(home, *others, limit=1) > 0
    if state.home is not None:
        (state.home_resources,) = await resources_of_homes(rows, [state.home])
    link = models.VirtualEntityResource
    resource_ids = [resource.resource_id for resource in state.resources]
    links = await rows.all(link, col(link.resource_id).in_(resource_ids))
    homes = await rows.get_many(models.VirtualEntity, {found.ve_id for found in links})
    for found in links:
        if homes[found.ve_id].active:
            state.homes_by_resource.setdefault(found.resource_id, []).append(homes[found.ve_id])
    owners = {resource.owner_id for resource in state.resources}
    for account in await rows.all(models.Account, col(models.Account.user_id).in_(owners)):
        state.usernames.setdefault(account.user_id, account.username)


def find_conflicts(state: HomeState, request: HomeRequest) -> list[Problem]:
    """Return the reasons for which the home cannot be set up beside the stored records, each with its option."""
    return [
        *_account_problems(state, request),
        *_home_problems(state, request),
        *_meter_point_problems(state, request),
        *_tariff_problems(state, request),
    ]


def _account_problems(state: HomeState, request: HomeRequest) -> Iterator[Problem]:
    if state.account is not None and not state.account.active:
        yield Problem(("--user",), f"the account {state.account.username} is {state.account.status}")
    if state.culture is not None and request.has_chosen_culture and state.culture != request.culture.culture:
        reason = f"the user {request.username} exists and has the culture {state.culture}. Change it with updateUser"
        yield Problem(("--culture",), reason)


def _home_problems(state: HomeState, request: HomeRequest) -> Iterator[Problem]:
    active = [home for home in state.homes if home.active]
    if len(active) > 1:
        ids = ", ".join(home.ve_id for home in active)
        yield Problem(("--name",), f"the user has {len(active)} homes with the name {request.name!r}: {ids}")
    if state.home is None:
        return
    zone = state.home.time_zone or DEFAULT_ZONE
    if zone != request.time_zone:
        yield Problem(("--time-zone",), f"the home {request.name!r} exists and has the time zone {zone}")
    for classifier, number in request.meter_points.items():
        others = [
            resource.mpxn or "no number"
            for resource in state.home_resources
            if resource.classifier == classifier and canonical_meter_point(resource.mpxn or "") != number
        ]
        if others:
            reason = f"the home {request.name!r} exists and has the meter point {', '.join(others)}"
            yield Problem((OPTIONS[classifier],), reason)


def _meter_point_problems(state: HomeState, request: HomeRequest) -> Iterator[Problem]:
    """Yield a problem for each meter point that another user or home has, or whose resource has no live fields."""
    owner_id = state.account.user_id if state.account else None
    for classifier, number in request.meter_points.items():
        option = (OPTIONS[classifier],)
        at_point = [resource for resource in state.resources if canonical_meter_point(resource.mpxn or "") == number]
        others = sorted({state.usernames.get(r.owner_id, r.owner_id) for r in at_point if r.owner_id != owner_id})
        if others:
            yield Problem(option, f"the meter point {number} belongs to the user {', '.join(others)}")
            continue
        homes = {home.ve_id: home for r in at_point for home in state.homes_by_resource.get(r.resource_id, [])}
        names = [repr(home.name) for home in homes.values() if state.home is None or home.ve_id != state.home.ve_id]
        if names:
            yield Problem(option, f"the meter point {number} belongs to the home {', '.join(names)} of the user")
            continue
        series = series_of(classifier, request.currency)[0]
        energy = state.find_resource(series, number)
        if request.live and energy is not None and _lacks_live_fields(series, energy):
            reason = f"the resource {energy.resource_id} exists without fields for live values, which cannot be added"
            yield Problem(("--live",), reason)


def _lacks_live_fields(series: Series, resource: models.Resource) -> bool:
    return not set(series.live_fields) <= {stored.name for stored in parse_fields(resource.storage)}


def _tariff_problems(state: HomeState, request: HomeRequest) -> Iterator[Problem]:
    for requested in request.tariffs:
        stored = find_tariff(state, request, requested.classifier, requested.terms)
        if stored is not None and not requested.has_terms_of(stored):
            reason = (
                f"{requested.classifier} has another tariff from {stored.valid_from:%Y-%m-%d}, {stored.name!r}. Change "
                "it with `wattgate tariff import`"
            )
            yield Problem((requested.option,), reason)


def find_tariff(state: HomeState, request: HomeRequest, classifier: str, terms: models.Tariff) -> models.Tariff | None:
    """Return the stored tariff of a source of energy that is valid from the same instant, or None."""
    resource = state.find_resource(series_of(classifier, request.currency)[0], request.meter_points[classifier])
    return next(
        (
            tariff
            for tariff in state.tariffs
            if resource is not None
            and tariff.resource_id == resource.resource_id
            and tariff.valid_from == terms.valid_from
        ),
        None,
    )

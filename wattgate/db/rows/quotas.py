"""Quotas: how many records of each kind one user, one application or one parent record may have.

Each model declares its own (`Tenanted.quota`). `Rows.add` checks the quota of each new record. Records above a quota
stay readable. Operations of the system itself, such as commands of the operator, have no quotas.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from wattgate.db.models import Tenanted
from wattgate.db.models.tenancy import Quota
from wattgate.db.rows.lookups import model_columns
from wattgate.db.unfinished_records import UnfinishedRecords
from wattgate.errors import QuotaExceeded

DEFAULT_APPLICATION_RECORDS = 1_000_000
"""Default maximum of each kind of record that grows with the users of an application."""

RECOUNT_PARTS = 16
"""An application is counted again when it has added this part of the free rest of its quota.

Up to this many processes can therefore count separately without exceeding it.
"""

MAX_COUNTS = 10_000
"""Maximum number of counts in memory. Above it, the oldest is dropped and counted again when it is needed."""


class Counts(Protocol):
    """Counts of the records of one application, for all of its users."""

    application_id: str

    async def count_in_application(self, model: type[Tenanted], *where: ColumnElement[bool], limit: int) -> int:
        """Return the number of records that meet the conditions. Stop at the limit."""


@dataclass(slots=True)
class _ApplicationCount:
    """How many records an application may add before it is counted again, and how many it has added."""

    uncounted: int = 0
    added: int = 0


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit of a quota that a record is subject to: the records with the value in the column, or all of them."""

    maximum: int
    column: str | None = None
    value: str | None = None


class QuotaChecker:
    """Checks the quotas of new records. `application_records` is that of kinds that grow with users; 0 means no limit.
    `quotas` replaces the quotas that the models declare.

    The records of a user are counted for each new one. An application may have many more, so that they are counted
    again only after a part of the free rest is used. Records of other transactions of the process that are not
    committed yet count as well, in the order in which they came.
    """

    def __init__(
        self,
        application_records: int = DEFAULT_APPLICATION_RECORDS,
        *,
        quotas: Mapping[type[Tenanted], Quota] | None = None,
    ) -> None:
        self._application_records = application_records
        self._quotas = quotas
        self._counts: OrderedDict[tuple[str, type[Tenanted]], _ApplicationCount] = OrderedDict()
        self.unfinished = UnfinishedRecords()

    async def check(self, counts: Counts, record: Tenanted, session: Session | None = None) -> None:
        """Raise QuotaExceeded if there is no room for a new record.

        `session` is the one that adds it, if others of the process can add records at the same time.
        """
        model = type(record)
        quota = model.quota if self._quotas is None else self._quotas.get(model)
        if not isinstance(quota, Quota):
            return
        with ExitStack() as announced:
            for limit in self._limits(quota, record):
                before = _nobody
                if session is not None:
                    announcement = session, (counts.application_id, model, limit.column, limit.value)
                    number = self.unfinished.announce(*announcement)
                    announced.callback(self.unfinished.withdraw, *announcement, number)
                    before = partial(self.unfinished.before, *announcement, number)
                if not await self._has_room(counts, model, limit, before):
                    raise _exceeded(model, quota, limit)
            announced.pop_all()  # until the transaction ends

    def _limits(self, quota: Quota, record: Tenanted) -> Iterator[_Limit]:
        """Yield the limits of a record."""
        columns = [quota.per_parent] if quota.per_parent is not None else []
        if quota.per_user is not None and record.owner is not None:
            columns.insert(0, (record.owner, quota.per_user))
        for column, maximum in columns:
            if (value := getattr(record, column)) is not None:
                yield _Limit(maximum, column, value)
        if of_application := self._application_records if quota.grows_with_users else quota.per_application:
            yield _Limit(of_application)

    async def _has_room(self, counts: Counts, model: type[Tenanted], limit: _Limit, before: Callable[[], int]) -> bool:
        if limit.column is not None:
            where = model_columns(model)[limit.column] == limit.value
            return await _count(counts, model, limit.maximum, before, where) < limit.maximum
        known = self._count_of(counts.application_id, model)
        if known.uncounted <= 0:
            added = known.added
            free = limit.maximum - await _count(counts, model, limit.maximum, before)
            if free <= 0:
                return False
            known.uncounted = free // RECOUNT_PARTS - (known.added - added)  # others have added while this one counted
        known.uncounted -= 1
        known.added += 1
        return True

    def _count_of(self, application_id: str, model: type[Tenanted]) -> _ApplicationCount:
        key = application_id, model
        known = self._counts.setdefault(key, _ApplicationCount())
        while len(self._counts) > MAX_COUNTS:
            self._counts.popitem(last=False)
        return known


def _nobody() -> int:
    return 0


async def _count(
    counts: Counts, model: type[Tenanted], limit: int, before: Callable[[], int], *where: ColumnElement[bool]
) -> int:
    """Return the number of records, with those of other transactions that came before and are not committed yet.

    A transaction that ends in the middle is in the number of those that came before, and may be in the count as well.
    So the records are counted again if one has ended and they would exceed the limit.
    """
    while True:
        unfinished = before()
        counted = await counts.count_in_application(model, *where, limit=limit)
        if counted >= limit or counted + unfinished < limit or before() == unfinished:
            return counted + unfinished


_ADVICE = "Change an existing record instead, or remove one"


def _exceeded(model: type[Tenanted], quota: Quota, limit: _Limit) -> QuotaExceeded:
    if limit.column is None:
        action = "Ask the operator to raise WATTGATE_APPLICATION_RECORDS" if quota.grows_with_users else _ADVICE
        return QuotaExceeded(f"The application has {limit.maximum:,} {quota.noun}, which is its quota. {action}.")
    owner = "user" if limit.column == model.owner else limit.column.removesuffix("_id").replace("_", " ")
    return QuotaExceeded(
        f"The {owner} has {limit.maximum:,} {quota.noun}, which is the quota for each {owner}. {_ADVICE}."
    )

"""The only way to the records of an application."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast

import msgspec
from sqlalchemy import (
    ARRAY,
    JSON,
    Column,
    ColumnElement,
    Select,
    String,
    Table,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from wattgate.db.models import Application, ApplicationCredential, OAuthClient, Tenanted
from wattgate.db.reader import Session, dialect_of, fetch
from wattgate.db.readings.series import Series
from wattgate.db.readings.tariff_prices import Prices
from wattgate.db.tenancy_guard import SCOPED
from wattgate.errors import NotFound

M = TypeVar("M", bound=Tenanted)
AT_ONCE = 10_000
"""How many identifiers one statement names; both databases' drivers take 32,767 parameters at most."""

Condition = ColumnElement[bool] | bool


def columns_of(model: type[Tenanted]) -> ReadOnlyColumnCollection[str, Column[Any]]:
    """The columns of a model's table, by name."""
    return _table(model).columns


@cache
def _struct(model: type[Tenanted]) -> type[msgspec.Struct]:
    """The row class of a model: its columns in order. Rows cost a fifth of what ORM objects cost."""
    names = [(column.name, Any) for column in columns_of(model)]
    return msgspec.defstruct(f"{model.__name__}Row", names, gc=False)


def _table(model: type[Tenanted]) -> Table:
    return cast(Table, model.__table__)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup(Generic[M]):
    """A question that is asked again and again: the rows of a model that have some values in a column.

    Its statement is made once, for making one costs as much as having it answered. `where` may have parameters
    (`bindparam`), which `Rows.by` is given by name. With `via` the column is that of records that link to the rows by
    the rows' keys.
    """

    model: type[M]
    column: str
    where: tuple[ColumnElement[bool], ...] = ()
    order_by: tuple[Any, ...] = ()
    via: type[Tenanted] | None = None


class Rows:
    """The records of one application, or of one user in it when `user_id` is given, as of the instant `now`.

    Reading methods answer rows: plain values with the model's attributes, typed as the model, that no session
    watches. Only `edit` and `add` give live objects, which are saved when the operation ends.
    """

    def __init__(self, session: Session, application_id: str, user_id: str | None = None, *, now: datetime) -> None:
        self.application_id = application_id
        self.user_id = user_id
        self.now = now
        self._session = session

    @property
    def _writing(self) -> AsyncSession:
        """The session of a mutation; a query that reaches for it is a defect of ours."""
        if isinstance(self._session, AsyncSession):
            return self._session
        raise RuntimeError("a query changes records")

    @cached_property
    def series(self) -> Series:
        """The readings of what these rows tell."""
        return Series(self._session)

    @cached_property
    def prices(self) -> Prices:
        """The prices of dynamic tariffs."""
        return Prices(self._session)

    def within(self, application_id: str) -> "Rows":
        """The rows of an application for a caller who has shown no credentials yet: for log-in alone."""
        return Rows(self._session, application_id, now=self.now)

    async def oauth_client(self, client_id: str) -> OAuthClient | None:
        """The OAuth client of this id, whichever application's it is: for its own log-in alone."""
        return await self._session.get(OAuthClient, client_id, execution_options=SCOPED)

    async def applications_with(self, model: type[M], *where: Condition) -> list[str]:
        """The ids of all applications that have such records: for the work of background tasks alone."""
        application_id = columns_of(model)["application_id"]
        statement = select(application_id).where(*cast(Iterable[ColumnElement[bool]], where)).distinct()
        return list((await self._session.execute(statement, execution_options=SCOPED)).scalars())

    async def soonest(self, model: type[M], instant: ColumnElement[datetime], *where: Condition) -> datetime | None:
        """The least instant of all applications' such records: for the work of background tasks alone."""
        statement = select(func.min(instant)).select_from(_table(model))
        statement = statement.where(*cast(Iterable[ColumnElement[bool]], where))
        return (await self._session.execute(statement, execution_options=SCOPED)).scalar_one()

    async def found(self, application: Application, credential: ApplicationCredential) -> Application:
        """Add a new application with its first credential: for the system's own operations alone."""
        credential.application_id = application.application_id
        self._writing.add(application)
        await self._writing.flush()
        self._writing.add(credential)
        return application

    async def application(self) -> Application | None:
        """The application itself, or None where there is no such application."""
        return await self._session.get(Application, self.application_id)

    async def all(
        self, model: type[M], *where: Condition, order_by: Sequence[Any] = (), limit: int | None = None
    ) -> list[M]:
        """Every row that the caller may see and that meets the conditions; in no order unless one is asked."""
        columns = columns_of(model)
        statement = select(*columns).where(*self._scope(model, where)).order_by(*order_by).limit(limit)
        found = await self._session.execute(statement, execution_options=SCOPED)
        make = _struct(model)
        return cast(list[M], [make(*row) for row in found])

    async def first(self, model: type[M], *where: Condition, order_by: Sequence[Any] = ()) -> M | None:
        """One row that meets the conditions, or None."""
        found = await self.all(model, *where, order_by=order_by, limit=1)
        return found[0] if found else None

    async def page(self, model: type[M], limit: int, *, after: tuple[datetime, str] | None) -> list[M]:
        """The visible rows that were made after a place (when, and identifier), oldest first."""
        made, key = columns_of(model)["created_at"], self.key_of(model)
        where = [] if after is None else [or_(made > after[0], and_(made == after[0], key > after[1]))]
        return await self.all(model, *where, order_by=[made, key], limit=limit)

    async def get(self, model: type[M], key: str) -> M:
        """The row with this identifier. NotFound for another application's or user's as for none."""
        row: M
        for row in await self.by(_by_key(model), [key]):
            return row
        raise NotFound(f"no {_spoken(model)} with id {key}")

    async def many(self, model: type[M], keys: Iterable[str]) -> dict[str, M]:
        """The visible rows among these identifiers, by identifier."""
        wanted, found = list(set(keys)), list[M]()
        for start in range(0, len(wanted), AT_ONCE):
            found += await self.by(_by_key(model), wanted[start : start + AT_ONCE])
        return {getattr(row, model.key): row for row in found}

    async def named(self, model: type[M], keys: Sequence[str]) -> list[M]:
        """The rows with these identifiers, each once and in their order. NotFound where one is not visible."""
        found = await self.many(model, keys)
        for key in keys:
            if key not in found:
                raise NotFound(f"no {_spoken(model)} with id {key}")
        return [found[key] for key in dict.fromkeys(keys)]

    async def edit(self, model: type[M], key: str) -> M:
        """The record with this identifier, to be changed; until then nobody else changes it. NotFound as `get`."""
        statement = select(model).where(*self._scope(model, [self.key_of(model) == key]))
        statement = statement.with_for_update(key_share=True)
        found = (await self._writing.execute(statement, execution_options=SCOPED)).scalar_one_or_none()
        if found is None:
            raise NotFound(f"no {_spoken(model)} with id {key}")
        return found

    async def add(self, record: M) -> M:
        """Put a new record into the application; what the database assigns is set on return."""
        record.application_id = self.application_id
        self._writing.add(record)
        await self._writing.flush()
        return record

    async def flush(self) -> None:
        """Write changed records now, for the sake of what the database would refuse or set."""
        await self._writing.flush()

    async def update(self, model: type[M], *where: Condition, **values: Any) -> int:
        """Change the visible records that meet the conditions, in one statement; how many they were."""
        statement = update(model).where(*self._scope(model, where)).values(**values)
        options = {**SCOPED, "synchronize_session": False}
        result = await self._writing.execute(statement, execution_options=options)
        return cast(int, result.rowcount)  # type: ignore[attr-defined]

    async def claim(
        self, model: type[M], *where: Condition, order_by: Sequence[Any], limit: int, **values: Any
    ) -> list[M]:
        """Change the first of the visible records that meet the conditions, at most `limit`; the rows as they are then.

        Nobody else gets the same ones: on PostgreSQL what others change at the moment is passed over, and on SQLite
        a transaction that writes is alone.
        """
        key = self.key_of(model)
        free = select(key).where(*self._scope(model, where)).order_by(*order_by).limit(limit)
        found = await self._writing.execute(free.with_for_update(skip_locked=True), execution_options=SCOPED)
        claimed = list(found.scalars())
        if not claimed:
            return []
        await self.update(model, key.in_(claimed), **values)
        return await self.all(model, key.in_(claimed), order_by=order_by)

    async def delete(self, model: type[M], *where: Condition) -> int:
        """Delete the visible records that meet the conditions; how many they were."""
        statement = delete(model).where(*self._scope(model, where))
        result = await self._writing.execute(statement, execution_options=SCOPED)
        return cast(int, result.rowcount)  # type: ignore[attr-defined]

    async def keep_newest(self, model: type[M], most: int) -> None:
        """Delete the oldest of the visible records, so that at most so many are left."""
        key = self.key_of(model)
        newest = select(key).where(*self._scope(model, ())).order_by(columns_of(model)["created_at"].desc()).limit(most)
        await self.delete(model, key.not_in(newest))

    async def count(self, model: type[M], *where: Condition) -> int:
        """How many visible records meet the conditions."""
        statement = select(func.count()).select_from(_table(model))
        statement = statement.where(*self._scope(model, where))
        found = await self._session.execute(statement, execution_options=SCOPED)
        return found.scalar_one()

    async def counts(self, model: type[M], by: str, *where: Condition) -> dict[Any, int]:
        """How many visible records meet the conditions, by the value of a column; without those of which none does."""
        column = columns_of(model)[by]
        statement = select(column, func.count()).where(*self._scope(model, where)).group_by(column)
        found = await self._session.execute(statement, execution_options=SCOPED)
        return dict(iter(found))

    async def by(self, lookup: Lookup[M], values: Collection[str], **parameters: Any) -> list[M]:
        """The visible rows that a look-up finds for some values of its column, and its parameters."""
        make = _struct(lookup.model)
        return cast(list[M], [make(*row) for row in await self._found(lookup, values, parameters)])

    async def linked(self, lookup: Lookup[M], values: Collection[str]) -> list[tuple[str, M]]:
        """The visible rows that are linked to some values of the look-up's column, each with such a value."""
        make = _struct(lookup.model)
        found = await self._found(lookup, values, {})
        return cast(list[tuple[str, M]], [(value, make(*row)) for value, *row in found])

    async def _found(
        self, lookup: Lookup[M], values: Collection[str], parameters: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        owned = self.user_id is not None and lookup.model.owner is not None
        given = {**parameters, "application": self.application_id, "among": list(values)}
        if owned:
            given["owner"] = self.user_id
        statement = _statement(lookup, dialect_of(self._session), owned)
        return await fetch(self._session, statement, given, execution_options=SCOPED)

    @staticmethod
    def key_of(model: type[Tenanted]) -> Any:
        """The model's identifier column."""
        return columns_of(model)[model.key]

    def _scope(self, model: type[Tenanted], where: Iterable[Condition]) -> list[ColumnElement[bool]]:
        """The conditions, and that a record is the application's, and the user's where there is one."""
        columns = columns_of(model)
        scope = [columns["application_id"] == self.application_id]
        if self.user_id is not None and model.owner is not None:
            scope.append(columns[model.owner] == self.user_id)
        # SQLModel's attributes are typed as their values, so that a comparison of them looks like a bool
        return [*scope, *cast(Iterable[ColumnElement[bool]], where)]


@cache
def _by_key(model: type[M]) -> Lookup[M]:
    """The look-up of rows by their identifiers."""
    return Lookup(model, model.key)


@cache
def _statement(lookup: Lookup[Any], dialect: str, owned: bool) -> Select[Any]:
    """The statement of a look-up in the rows of an application, or of one owner in it.

    The values come as a relation, so that the text does not change with their number; and PostgreSQL would compare each
    row with every one of a long list.
    """
    columns = columns_of(lookup.model)
    scope = [columns["application_id"] == bindparam("application")]
    told = list(columns)
    if lookup.via is None:
        asked = columns[lookup.column]
    else:
        links = columns_of(lookup.via)
        scope += [links[name] == columns[name] for name in ("application_id", lookup.model.key)]
        asked = links[lookup.column]
        told.insert(0, asked)
    if owned:
        scope.append(columns[str(lookup.model.owner)] == bindparam("owner"))
    if dialect == "postgresql":
        among: Any = select(func.unnest(bindparam("among", type_=ARRAY(String))))
    else:
        among = select(func.json_each(bindparam("among", type_=JSON)).table_valued("value").c.value)
    return select(*told).where(*scope, asked.in_(among), *lookup.where).order_by(*lookup.order_by)


def _spoken(model: type[Tenanted]) -> str:
    return _table(model).name.removeprefix("app_").replace("_", " ")

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
from wattgate.db.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.readings.reading_store import ReadingStore
from wattgate.db.readings.tariff_price_store import TariffPriceStore
from wattgate.db.tenancy_guard import SCOPED_OPTION
from wattgate.errors import NotFound

M = TypeVar("M", bound=Tenanted)
MAX_KEYS_PER_STATEMENT = 10_000
"""How many identifiers one statement names; both databases' drivers take 32,767 parameters at most."""

Condition = ColumnElement[bool] | bool


def model_columns(model: type[Tenanted]) -> ReadOnlyColumnCollection[str, Column[Any]]:
    """The columns of a model's table, by name."""
    return _model_table(model).columns


@cache
def _row_class(model: type[Tenanted]) -> type[msgspec.Struct]:
    """The row class of a model: its columns in order. Rows cost a fifth of what ORM objects cost."""
    names = [(column.name, Any) for column in model_columns(model)]
    return msgspec.defstruct(f"{model.__name__}Row", names, gc=False)


def _model_table(model: type[Tenanted]) -> Table:
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

    def __init__(
        self, session: DatabaseSession, application_id: str, user_id: str | None = None, *, now: datetime
    ) -> None:
        self.application_id = application_id
        self.user_id = user_id
        self.now = now
        self._session = session

    @property
    def _write_session(self) -> AsyncSession:
        """The session of a mutation; a query that reaches for it is a defect of ours."""
        if isinstance(self._session, AsyncSession):
            return self._session
        raise RuntimeError("a query changes records")

    @cached_property
    def readings(self) -> ReadingStore:
        """The readings of what these rows tell."""
        return ReadingStore(self._session)

    @cached_property
    def prices(self) -> TariffPriceStore:
        """The prices of dynamic tariffs."""
        return TariffPriceStore(self._session)

    def for_application(self, application_id: str) -> "Rows":
        """The rows of an application for a caller who has shown no credentials yet: for log-in alone."""
        return Rows(self._session, application_id, now=self.now)

    async def oauth_client(self, client_id: str) -> OAuthClient | None:
        """The OAuth client of this id, whichever application's it is: for its own log-in alone."""
        return await self._session.get(OAuthClient, client_id, execution_options=SCOPED_OPTION)

    async def application_ids_with(self, model: type[M], *where: Condition) -> list[str]:
        """The ids of all applications that have such records: for the work of background tasks alone."""
        application_id = model_columns(model)["application_id"]
        statement = select(application_id).where(*cast(Iterable[ColumnElement[bool]], where)).distinct()
        return list((await self._session.execute(statement, execution_options=SCOPED_OPTION)).scalars())

    async def earliest(self, model: type[M], instant: ColumnElement[datetime], *where: Condition) -> datetime | None:
        """The least instant of all applications' such records: for the work of background tasks alone."""
        statement = select(func.min(instant)).select_from(_model_table(model))
        statement = statement.where(*cast(Iterable[ColumnElement[bool]], where))
        return (await self._session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one()

    async def create_application(self, application: Application, credential: ApplicationCredential) -> Application:
        """Add a new application with its first credential: for the system's own operations alone."""
        credential.application_id = application.application_id
        self._write_session.add(application)
        await self._write_session.flush()
        self._write_session.add(credential)
        return application

    async def application(self) -> Application | None:
        """The application itself, or None where there is no such application."""
        return await self._session.get(Application, self.application_id)

    async def all(
        self, model: type[M], *where: Condition, order_by: Sequence[Any] = (), limit: int | None = None
    ) -> list[M]:
        """Every row that the caller may see and that meets the conditions; in no order unless one is asked."""
        columns = model_columns(model)
        statement = select(*columns).where(*self._scoped_conditions(model, where)).order_by(*order_by).limit(limit)
        result = await self._session.execute(statement, execution_options=SCOPED_OPTION)
        row_class = _row_class(model)
        return cast(list[M], [row_class(*row) for row in result])

    async def first(self, model: type[M], *where: Condition, order_by: Sequence[Any] = ()) -> M | None:
        """One row that meets the conditions, or None."""
        rows = await self.all(model, *where, order_by=order_by, limit=1)
        return rows[0] if rows else None

    async def page(self, model: type[M], limit: int, *, after: tuple[datetime, str] | None) -> list[M]:
        """The visible rows that were made after a place (when, and identifier), oldest first."""
        created_at, key = model_columns(model)["created_at"], self.key_column(model)
        where = [] if after is None else [or_(created_at > after[0], and_(created_at == after[0], key > after[1]))]
        return await self.all(model, *where, order_by=[created_at, key], limit=limit)

    async def get(self, model: type[M], key: str) -> M:
        """The row with this identifier. NotFound for another application's or user's as for none."""
        row: M
        for row in await self.find(_key_lookup(model), [key]):
            return row
        raise NotFound(f"no {_display_name(model)} with id {key}")

    async def get_many(self, model: type[M], keys: Iterable[str]) -> dict[str, M]:
        """The visible rows among these identifiers, by identifier."""
        unique_keys, rows = list(set(keys)), list[M]()
        for start in range(0, len(unique_keys), MAX_KEYS_PER_STATEMENT):
            rows += await self.find(_key_lookup(model), unique_keys[start : start + MAX_KEYS_PER_STATEMENT])
        return {getattr(row, model.key): row for row in rows}

    async def require_many(self, model: type[M], keys: Sequence[str]) -> list[M]:
        """The rows with these identifiers, each once and in their order. NotFound where one is not visible."""
        rows = await self.get_many(model, keys)
        for key in keys:
            if key not in rows:
                raise NotFound(f"no {_display_name(model)} with id {key}")
        return [rows[key] for key in dict.fromkeys(keys)]

    async def edit(self, model: type[M], key: str) -> M:
        """The record with this identifier, to be changed; until then nobody else changes it. NotFound as `get`."""
        statement = select(model).where(*self._scoped_conditions(model, [self.key_column(model) == key]))
        statement = statement.with_for_update(key_share=True)
        record = (await self._write_session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one_or_none()
        if record is None:
            raise NotFound(f"no {_display_name(model)} with id {key}")
        return record

    async def add(self, record: M) -> M:
        """Put a new record into the application; what the database assigns is set on return."""
        record.application_id = self.application_id
        self._write_session.add(record)
        await self._write_session.flush()
        return record

    async def flush(self) -> None:
        """Write changed records now, for the sake of what the database would refuse or set."""
        await self._write_session.flush()

    async def update(self, model: type[M], *where: Condition, **values: Any) -> int:
        """Change the visible records that meet the conditions, in one statement; how many they were."""
        statement = update(model).where(*self._scoped_conditions(model, where)).values(**values)
        options = {**SCOPED_OPTION, "synchronize_session": False}
        result = await self._write_session.execute(statement, execution_options=options)
        return cast(int, result.rowcount)  # type: ignore[attr-defined]

    async def claim(
        self, model: type[M], *where: Condition, order_by: Sequence[Any], limit: int, **values: Any
    ) -> list[M]:
        """Change the first of the visible records that meet the conditions, at most `limit`; the rows as they are then.

        Nobody else gets the same ones: on PostgreSQL what others change at the moment is passed over, and on SQLite
        a transaction that writes is alone.
        """
        key = self.key_column(model)
        candidates = select(key).where(*self._scoped_conditions(model, where)).order_by(*order_by).limit(limit)
        result = await self._write_session.execute(
            candidates.with_for_update(skip_locked=True), execution_options=SCOPED_OPTION
        )
        claimed_keys = list(result.scalars())
        if not claimed_keys:
            return []
        await self.update(model, key.in_(claimed_keys), **values)
        return await self.all(model, key.in_(claimed_keys), order_by=order_by)

    async def delete(self, model: type[M], *where: Condition) -> int:
        """Delete the visible records that meet the conditions; how many they were."""
        statement = delete(model).where(*self._scoped_conditions(model, where))
        result = await self._write_session.execute(statement, execution_options=SCOPED_OPTION)
        return cast(int, result.rowcount)  # type: ignore[attr-defined]

    async def keep_newest(self, model: type[M], max_count: int) -> None:
        """Delete the oldest of the visible records, so that at most so many are left."""
        key = self.key_column(model)
        newest = (
            select(key)
            .where(*self._scoped_conditions(model, ()))
            .order_by(model_columns(model)["created_at"].desc())
            .limit(max_count)
        )
        await self.delete(model, key.not_in(newest))

    async def count(self, model: type[M], *where: Condition) -> int:
        """How many visible records meet the conditions."""
        statement = select(func.count()).select_from(_model_table(model))
        statement = statement.where(*self._scoped_conditions(model, where))
        result = await self._session.execute(statement, execution_options=SCOPED_OPTION)
        return result.scalar_one()

    async def count_by(self, model: type[M], group_by: str, *where: Condition) -> dict[Any, int]:
        """How many visible records meet the conditions, by the value of a column; without those of which none does."""
        column = model_columns(model)[group_by]
        statement = select(column, func.count()).where(*self._scoped_conditions(model, where)).group_by(column)
        result = await self._session.execute(statement, execution_options=SCOPED_OPTION)
        return dict(iter(result))

    async def find(self, lookup: Lookup[M], values: Collection[str], **parameters: Any) -> list[M]:
        """The visible rows that a look-up finds for some values of its column, and its parameters."""
        row_class = _row_class(lookup.model)
        return cast(list[M], [row_class(*row) for row in await self._fetch_lookup(lookup, values, parameters)])

    async def find_linked(self, lookup: Lookup[M], values: Collection[str]) -> list[tuple[str, M]]:
        """The visible rows that are linked to some values of the look-up's column, each with such a value."""
        row_class = _row_class(lookup.model)
        result = await self._fetch_lookup(lookup, values, {})
        return cast(list[tuple[str, M]], [(value, row_class(*row)) for value, *row in result])

    async def _fetch_lookup(
        self, lookup: Lookup[M], values: Collection[str], parameters: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        is_owned = self.user_id is not None and lookup.model.owner is not None
        bind_values = {**parameters, "application": self.application_id, "among": list(values)}
        if is_owned:
            bind_values["owner"] = self.user_id
        statement = _lookup_statement(lookup, dialect_name(self._session), is_owned)
        return await fetch(self._session, statement, bind_values, execution_options=SCOPED_OPTION)

    @staticmethod
    def key_column(model: type[Tenanted]) -> Any:
        """The model's identifier column."""
        return model_columns(model)[model.key]

    def _scoped_conditions(self, model: type[Tenanted], where: Iterable[Condition]) -> list[ColumnElement[bool]]:
        """The conditions, and that a record is the application's, and the user's where there is one."""
        columns = model_columns(model)
        scope = [columns["application_id"] == self.application_id]
        if self.user_id is not None and model.owner is not None:
            scope.append(columns[model.owner] == self.user_id)
        # SQLModel's attributes are typed as their values, so that a comparison of them looks like a bool
        return [*scope, *cast(Iterable[ColumnElement[bool]], where)]


@cache
def _key_lookup(model: type[M]) -> Lookup[M]:
    """The look-up of rows by their identifiers."""
    return Lookup(model, model.key)


@cache
def _lookup_statement(lookup: Lookup[Any], dialect: str, is_owned: bool) -> Select[Any]:
    """The statement of a look-up in the rows of an application, or of one owner in it.

    The values come as a relation, so that the text does not change with their number; and PostgreSQL would compare each
    row with every one of a long list.
    """
    columns = model_columns(lookup.model)
    scope = [columns["application_id"] == bindparam("application")]
    selected = list(columns)
    if lookup.via is None:
        lookup_column = columns[lookup.column]
    else:
        link_columns = model_columns(lookup.via)
        scope += [link_columns[name] == columns[name] for name in ("application_id", lookup.model.key)]
        lookup_column = link_columns[lookup.column]
        selected.insert(0, lookup_column)
    if is_owned:
        scope.append(columns[str(lookup.model.owner)] == bindparam("owner"))
    if dialect == "postgresql":
        values: Any = select(func.unnest(bindparam("among", type_=ARRAY(String))))
    else:
        values = select(func.json_each(bindparam("among", type_=JSON)).table_valued("value").c.value)
    return select(*selected).where(*scope, lookup_column.in_(values), *lookup.where).order_by(*lookup.order_by)


def _display_name(model: type[Tenanted]) -> str:
    return _model_table(model).name.removeprefix("app_").replace("_", " ")

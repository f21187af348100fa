"""Access to the records of an application. Every read and write of tenant tables goes through `Rows`."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import ColumnElement, delete, func, insert, literal, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session
from sqlmodel import col

from wattgate.access_log import AccessRecorder
from wattgate.db.audit_chain import AuditAct, ChainCheck, append_entry, check_chain
from wattgate.db.change_recorder import MAX_CHANGES, ChangeRecorder
from wattgate.db.connections.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.encryption.key_ring import NO_KEYS, KeyRing, SecretLocation
from wattgate.db.meter_network import MeterNetwork
from wattgate.db.models import Application, ApplicationCredential, OAuthClient, Tenanted, User
from wattgate.db.readings.reading_store import ReadingStore
from wattgate.db.readings.tariff_price_store import TariffPriceStore
from wattgate.db.rows.insert_statements import (
    insert_for,
    insert_if_absent,
    insert_or_count,
    insert_or_update,
    insert_parameters,
    record_values,
)
from wattgate.db.rows.lookups import (
    Lookup,
    display_name,
    key_lookup,
    lookup_statement,
    model_columns,
    model_table,
    not_found,
    row_class,
)
from wattgate.db.rows.pages import Condition, PageSpan, page_conditions, page_order
from wattgate.db.rows.quotas import QuotaChecker
from wattgate.db.scope.home_scope import home_condition
from wattgate.db.scope.policies import DEFAULT_CONSENT_POLICY, ConsentPolicy
from wattgate.db.scope.row_scope import RowScope, SystemAccess, scope_holder, system_access
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import Conflict
from wattgate.pauses import collect

M = TypeVar("M", bound=Tenanted)
T = TypeVar("T")

MAX_KEYS_PER_STATEMENT = 10_000
"""The maximum number of identifiers in one statement. The drivers accept up to 32,767 parameters."""


class Collect(Protocol):
    """Run parts of a loader one after another, and return their results in order."""

    def __call__(self, parts: Iterable[Awaitable[T]], /) -> Awaitable[list[T]]: ...


async def run_in_order(parts: Iterable[Awaitable[T]], /) -> list[T]:
    """Run parts of a loader for which nobody pays."""
    return [await part for part in parts]


class Rows:
    """The records of one application, or of one user of it if `user_id` is set, at the instant `now`.

    If `ve_id` is set, only those of this home of the user. Read methods return rows: plain values with the attributes
    of the model, which no session tracks. Only `edit` and `add` return ORM objects, which are saved when the operation
    ends. `consent_policy` says what happens to data without a consent. `accesses` records reads of households' data
    for the access log. `read_budget` returns the request budget of the caller. `charge_readings` charges it for priced
    readings, or for work that takes as long; None if nobody pays. A loop whose parts charge runs them with `collect`,
    so that they are charged together. `network` is the meter network. `for_household` says whether the caller is an
    account or a display of the user, not an application for it. With `guards_owners`, no record of an erased user is
    added or edited. Other callers are the user, whose credentials have ended, or the gateway itself. `add_or_update`,
    `add_counts` and `add_for` leave no entry in the audit log.
    """

    def __init__(
        self,
        session: DatabaseSession,
        application_id: str,
        user_id: str | None = None,
        ve_id: str | None = None,
        *,
        now: datetime,
        quotas: QuotaChecker | None = None,
        key_ring: KeyRing = NO_KEYS,
        consent_policy: ConsentPolicy = DEFAULT_CONSENT_POLICY,
    ) -> None:
        self.application_id = application_id
        self.user_id = user_id
        self.ve_id = ve_id
        self.now = now
        self.consent_policy = consent_policy
        self.guards_owners = False
        self.for_household = False
        self.recorder: ChangeRecorder | None = None
        self.accesses: AccessRecorder | None = None
        self.network: MeterNetwork | None = None
        self.read_budget: Callable[[], Any] | None = None
        self.charge_readings: Callable[[int], None] | None = None
        self.collect: Collect = run_in_order
        self._session = session
        self._present_users: set[str] = set()
        self._quotas = quotas
        self._key_ring = key_ring

    @property
    def write_session(self) -> AsyncSession:
        """The session of a mutation, for modules of `db`. Raise RuntimeError in a query: its operation is wrong."""
        if isinstance(self._session, AsyncSession):
            return self._session
        raise RuntimeError("A query must not change records. Declare the operation as a mutation.")

    @property
    def _session_beside_others(self) -> Session | None:
        """The session of a mutation, unless the database runs one transaction that writes at a time."""
        session = self.write_session
        return None if dialect_name(session) == "sqlite" else session.sync_session

    @cached_property
    def readings(self) -> ReadingStore:
        """Return the store of readings. Pass it only series keys of rows that this object returned."""
        return ReadingStore(self._session)

    @cached_property
    def prices(self) -> TariffPriceStore:
        """Return the store of the prices of dynamic tariffs."""
        return TariffPriceStore(self._session)

    def for_application(self, application_id: str) -> "Rows":
        """Return the rows of an application before the caller is authenticated. Only login uses this.

        The rest of the session may touch these rows.
        """
        scope_holder(self._session).scope = RowScope(application_id)
        rows = self._for_application(application_id)
        rows.recorder = self.recorder
        return rows

    def _for_application(self, application_id: str) -> "Rows":
        return Rows(
            self._session,
            application_id,
            now=self.now,
            quotas=self._quotas,
            key_ring=self._key_ring,
            consent_policy=self.consent_policy,
        )

    @contextmanager
    def whole_application(self) -> Iterator["Rows"]:
        """Provide the rows of all users of the application, for limits and for messages to the application itself."""
        holder = scope_holder(self._session)
        previous, holder.scope = holder.scope, RowScope(self.application_id)
        try:
            yield self._for_application(self.application_id)
        finally:
            holder.scope = previous

    async def append_audit_entry(self, application_id: str, act: AuditAct) -> None:
        """Append an entry to the audit log of an application. Call it at the end of the transaction."""
        await append_entry(self.write_session, application_id, act, self.now)

    async def check_audit_chain(self) -> ChainCheck:
        """Check the audit log of the application."""
        return await check_chain(self._session, self.application_id)

    def encrypt(self, record: M, column: str, text: str) -> None:
        """Set an encrypted column of a record. The record has its identifier, to which the encryption is bound."""
        location = SecretLocation(model_table(type(record)).name, column, getattr(record, record.key))
        setattr(record, column, self._key_ring.encrypt(text, location))

    def decrypt(self, model: type[M], row: M, column: str) -> str:
        """Return the text of an encrypted column of a row. Raise SecretKeyError if the key is missing."""
        location = SecretLocation(model_table(model).name, column, getattr(row, model.key))
        return self._key_ring.decrypt(getattr(row, column), location)

    async def oauth_client(self, client_id: str) -> OAuthClient | None:
        """Return the OAuth client with this id, of any application. Only the login of the client uses this."""
        with system_access(self._session, SystemAccess.FIND_OAUTH_CLIENT):
            return await self._session.get(OAuthClient, client_id, execution_options=SCOPED_OPTION)

    async def application_ids_with(self, model: type[M], *where: Condition) -> list[str]:
        """Return the ids of all applications that have matching records. Only background tasks use this."""
        application_id = model_columns(model)["application_id"]
        statement = select(application_id).where(*cast(Iterable[ColumnElement[bool]], where)).distinct()
        return list((await self._session.execute(statement, execution_options=SCOPED_OPTION)).scalars())

    async def earliest(self, model: type[M], instant: ColumnElement[datetime], *where: Condition) -> datetime | None:
        """Return the earliest instant in matching records of all applications. Only background tasks use this."""
        statement = select(func.min(instant)).select_from(model_table(model))
        statement = statement.where(*cast(Iterable[ColumnElement[bool]], where))
        return (await self._session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one()

    async def create_application(
        self, application: Application, credential: ApplicationCredential, records: Sequence[Tenanted] = ()
    ) -> Application:
        """Add a new application with its first credential and records. Only operations of the system use this."""
        credential.application_id = application.application_id
        self.write_session.add(application)
        await self.write_session.flush()
        self.write_session.add(credential)
        for record in records:
            record.application_id = application.application_id
        self.write_session.add_all(records)
        if self.recorder is not None:
            self.recorder.record_added("application", "application_id", application)
            self.recorder.record_added("application credential", "application_id", credential)
        return application

    async def application_credential(self, username: str) -> ApplicationCredential | None:
        """Return the credential of an application for changes, or None. Only operations of the system use this."""
        credential = await self.write_session.get(ApplicationCredential, username, with_for_update=True)
        if credential is not None and self.recorder is not None:
            self.recorder.record_edited("application_credential", "username", credential)
        return credential

    async def application(self) -> Application | None:
        """Return the application itself, or None if it does not exist."""
        return await self._session.get(Application, self.application_id)

    async def all(
        self, model: type[M], *where: Condition, order_by: Sequence[Any] = (), limit: int | None = None
    ) -> list[M]:
        """Return every visible row that meets the conditions. The order is undefined without `order_by`."""
        conditions = self._scoped_conditions(model, where)
        statement = select(*model_columns(model)).where(*conditions).order_by(*order_by).limit(limit)
        result = await self._session.execute(statement, execution_options=SCOPED_OPTION)
        class_of_rows = row_class(model)
        return cast("list[M]", await collect(class_of_rows(*row) for row in result))

    async def page(self, model: type[M], span: PageSpan, *where: Condition) -> list[M]:
        """Return the visible rows of a part of the list of all rows that meet the conditions."""
        order = page_order(model, span)
        rows = await self.all(model, *where, *page_conditions(model, span), order_by=order, limit=span.limit)
        return rows[::-1] if span.from_end else rows

    async def pages(
        self, model: type[M], column: str, values: Collection[str], span: PageSpan, *where: Condition
    ) -> dict[str, list[M]]:
        """Return a page of the list of each value of a column, by value. One statement reads all of them."""
        columns = model_columns(model)
        if len(values) == 1:
            (value,) = values
            return {value: await self.page(model, span, columns[column] == value, *where)}
        key = columns[model.key]
        conditions = [columns[column].in_(values), *where, *page_conditions(model, span)]
        rank = func.row_number().over(partition_by=columns[column], order_by=page_order(model, span)).label("rank")
        ranked = select(key.label("key"), rank).where(*self._scoped_conditions(model, conditions)).subquery()
        keys = select(ranked.c.key).where(ranked.c.rank <= span.limit)
        pages = defaultdict[str, list[M]](list)
        for row in await self.all(model, key.in_(keys), order_by=[columns["created_at"], key]):
            pages[getattr(row, column)].append(row)
        return {value: pages[value] for value in values}

    async def first(self, model: type[M], *where: Condition, order_by: Sequence[Any] = ()) -> M | None:
        """Return the first row that meets the conditions, or None."""
        rows = await self.all(model, *where, order_by=order_by, limit=1)
        return rows[0] if rows else None

    async def get(self, model: type[M], key: str) -> M:
        """Return the row with this identifier.

        Raise NotFound if it does not exist or belongs to another application or user.
        """
        row: M
        for row in await self.find(key_lookup(model), [key]):
            return row
        raise not_found(model, key)

    async def get_many(self, model: type[M], keys: Iterable[str]) -> dict[str, M]:
        """Return the visible rows with these identifiers, by identifier."""
        unique_keys, rows = list(set(keys)), cast("list[M]", [])
        for start in range(0, len(unique_keys), MAX_KEYS_PER_STATEMENT):
            rows += await self.find(key_lookup(model), unique_keys[start : start + MAX_KEYS_PER_STATEMENT])
        return {getattr(row, model.key): row for row in rows}

    async def require_many(self, model: type[M], keys: Sequence[str]) -> list[M]:
        """Return the rows with these identifiers, in order and without duplicates.

        Raise NotFound if one of them is not visible.
        """
        rows = await self.get_many(model, keys)
        for key in keys:
            if key not in rows:
                raise not_found(model, key)
        return [rows[key] for key in dict.fromkeys(keys)]

    async def lock(self, model: type[Tenanted], *where: Condition, shared: bool = False) -> None:
        """Lock the visible records that meet the conditions, in the order of their identifiers, as `edit` does.

        With `shared`, other transactions may lock them too, but not change them. SQLite has one writer at a time and
        needs no locks.
        """
        key = model_columns(model)[model.key]
        statement = select(key).where(*self._scoped_conditions(model, where)).order_by(key)
        await self.write_session.execute(
            statement.with_for_update(read=shared, key_share=not shared), execution_options=SCOPED_OPTION
        )

    async def edit(self, model: type[M], key: str) -> M:
        """Return the record with this identifier for changes, and lock it. Raise NotFound as `get` does."""
        statement = select(model).where(*self._scoped_conditions(model, [self.key_column(model) == key]))
        statement = statement.with_for_update(key_share=True)
        record = (await self.write_session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one_or_none()
        if record is None:
            raise not_found(model, key)
        await self._require_present_owner(record)
        if self.recorder is not None:
            self.recorder.record_edited(display_name(model), model.key, record)
        return record

    async def add(self, record: M) -> M:
        """Add a new record to the application. On return, the values that the database assigns are set.

        Raise QuotaExceeded if the user or the application has as many records of the model as it may have.
        """
        await self._check_addition(record)
        self.write_session.add(record)
        await self.write_session.flush()
        if self.recorder is not None:
            self.recorder.record_added(display_name(type(record)), record.key, record)
        return record

    async def add_all(self, records: Sequence[Tenanted]) -> None:
        """Add new records of one model, in one statement, as `add` does. No session tracks them.

        The numbers that the database assigns keep their order. They are not set on return: SQLite would need a
        statement for each record.
        """
        if not records:
            return
        for record in records:
            await self._check_addition(record)
        await self.write_session.execute(
            insert(model_table(type(records[0]))), insert_parameters(records), execution_options=SCOPED_OPTION
        )
        if self.recorder is not None:
            for record in records:
                self.recorder.record_added(display_name(type(record)), record.key, record)

    async def add_if_absent(self, record: Tenanted) -> bool:
        """Add a record unless one with the same unique values exists, also of a concurrent transaction.

        Return whether it was added. Raise QuotaExceeded as `add` does.
        """
        await self._check_addition(record)
        statement = insert_if_absent(dialect_name(self._session), record)
        result = await self.write_session.execute(statement, execution_options=SCOPED_OPTION)
        added = bool(result.rowcount)  # type: ignore[attr-defined]
        if added and self.recorder is not None:
            self.recorder.record_added(display_name(type(record)), record.key, record)
        return added

    async def add_or_update(self, record: Tenanted, **values: Any) -> None:
        """Add a record, or change the one with its key by `values`, in one statement."""
        record.application_id = self.application_id
        statement = insert_or_update(dialect_name(self.write_session), record, values)
        await self.write_session.execute(statement, execution_options=SCOPED_OPTION)

    async def add_counts(self, records: Sequence[Tenanted], count: str, latest: str) -> None:
        """Add records of one model, or add their counts to the records with their keys.

        `count` names the column of the counts, and `latest` a column that takes the greater value.
        """
        for record in records:
            record.application_id = self.application_id
        model = type(records[0])
        statement = insert_or_count(dialect_name(self.write_session), model, count, latest)
        # in key order, so that two gateways with the same records wait for each other instead of deadlocking
        values = sorted(map(record_values, records), key=itemgetter(model.key))
        await self.write_session.execute(statement, values, execution_options=SCOPED_OPTION)

    async def add_for(self, parent: type[Tenanted], record: Tenanted, *, parent_id: str | None = None) -> bool:
        """Add a record if its parent exists, in one statement either way. Return whether it does.

        By default, `parent_id` is the attribute of the record with the name of the parent's key.
        """
        record.application_id = self.application_id
        statement = insert_for(parent, record, parent_id)
        result = await self.write_session.execute(statement, execution_options=SCOPED_OPTION)
        return bool(result.rowcount)  # type: ignore[attr-defined]

    async def flush(self) -> None:
        """Write changed records now, to learn which values the database rejects or assigns."""
        await self.write_session.flush()

    async def update(self, model: type[M], *where: Condition, **values: Any) -> int:
        """Change the visible records that meet the conditions, in one statement. Return their number."""
        await self._record_bulk(model, where, values)
        statement = update(model).where(*self._scoped_conditions(model, where)).values(**values)
        options = {**SCOPED_OPTION, "synchronize_session": False}
        result = await self.write_session.execute(statement, execution_options=options)
        return cast(int, result.rowcount)  # type: ignore[attr-defined]

    async def claim(
        self, model: type[M], *where: Condition, order_by: Sequence[Any], limit: int, **values: Any
    ) -> list[M]:
        """Claim up to `limit` of the visible records that meet the conditions: change them and return the new rows.

        No concurrent caller gets the same records. On PostgreSQL, locked records are skipped. On SQLite, only one
        transaction can write.
        """
        key = self.key_column(model)
        candidates = select(key).where(*self._scoped_conditions(model, where)).order_by(*order_by).limit(limit)
        result = await self.write_session.execute(
            candidates.with_for_update(skip_locked=True), execution_options=SCOPED_OPTION
        )
        claimed_keys = list(result.scalars())
        if not claimed_keys:
            return []
        await self.update(model, key.in_(claimed_keys), **values)
        return await self.all(model, key.in_(claimed_keys), order_by=order_by)

    async def delete(self, model: type[M], *where: Condition) -> int:
        """Delete the visible records that meet the conditions. Return their number."""
        await self._record_bulk(model, where, None)
        statement = delete(model).where(*self._scoped_conditions(model, where))
        result = await self.write_session.execute(statement, execution_options=SCOPED_OPTION)
        return cast(int, result.rowcount)  # type: ignore[attr-defined]

    async def keep_newest(self, model: type[M], max_count: int) -> None:
        """Delete the oldest visible records, so that at most `max_count` remain."""
        key = self.key_column(model)
        newest = (
            select(key)
            .where(*self._scoped_conditions(model, ()))
            .order_by(model_columns(model)["created_at"].desc())
            .limit(max_count)
        )
        await self.delete(model, key.not_in(newest))

    async def count(self, model: type[M], *where: Condition, limit: int | None = None) -> int:
        """Return the number of visible records that meet the conditions. Stop at the limit."""
        matching = select(literal(1)).select_from(model_table(model)).where(*self._scoped_conditions(model, where))
        statement = select(func.count()).select_from(matching.limit(limit).subquery())
        result = await self._session.execute(statement, execution_options=SCOPED_OPTION)
        return result.scalar_one()

    async def count_in_application(self, model: type[M], *where: Condition, limit: int | None = None) -> int:
        """Count as `count` does, over the records of all users of the application, as bounds need it."""
        with self.whole_application() as rows:
            return await rows.count(model, *where, limit=limit)

    async def count_by(self, model: type[M], group_by: str, *where: Condition) -> dict[Any, int]:
        """Count the visible records that meet the conditions, by the value of a column. Counts of 0 are left out."""
        return await self.aggregate_by(model, group_by, func.count(), *where)

    async def aggregate_by(
        self, model: type[M], group_by: str, aggregate: ColumnElement[Any], *where: Condition
    ) -> dict[Any, Any]:
        """Return an aggregate of the visible records that meet the conditions, by the value of a column.

        Values without records are left out.
        """
        column = model_columns(model)[group_by]
        statement = select(column, aggregate).where(*self._scoped_conditions(model, where)).group_by(column)
        result = await self._session.execute(statement, execution_options=SCOPED_OPTION)
        return dict(iter(result))

    async def find(
        self, lookup: Lookup[M], values: Collection[str], *, limit: int | None = None, **parameters: Any
    ) -> list[M]:
        """Return the visible rows of a lookup for some values of its column: at most `limit`, of all values together.

        `parameters` are those of `where`.
        """
        class_of_rows = row_class(lookup.model)
        found = await self._fetch_lookup(lookup, values, parameters, limit)
        return cast("list[M]", [class_of_rows(*row) for row in found])

    async def find_linked(self, lookup: Lookup[M], values: Collection[str]) -> list[tuple[str, M]]:
        """Return the visible rows of a lookup with `via`, each with the value of the link column."""
        result, class_of_rows = await self._fetch_lookup(lookup, values, {}), row_class(lookup.model)
        return cast("list[tuple[str, M]]", [(value, class_of_rows(*row)) for value, *row in result])

    async def _fetch_lookup(
        self, lookup: Lookup[M], values: Collection[str], parameters: Mapping[str, Any], limit: int | None = None
    ) -> Sequence[Sequence[Any]]:
        is_owned = self.user_id is not None and lookup.model.owner is not None
        bind_values = {**parameters, "application": self.application_id, "among": list(values)}
        if is_owned:
            bind_values["owner"] = self.user_id
        if self.ve_id is not None:
            bind_values["home"] = self.ve_id
        if limit is not None:
            bind_values["limit"] = limit
        statement = lookup_statement(
            lookup, dialect_name(self._session), is_owned, self.ve_id is not None, limit is not None
        )
        return await fetch(self._session, statement, bind_values, execution_options=SCOPED_OPTION)

    async def _check_addition(self, record: Tenanted) -> None:
        """Make a new record one of the application. Raise QuotaExceeded, or Conflict if its owner is erased."""
        record.application_id = self.application_id
        await self._require_present_owner(record)
        if self._quotas is not None:
            await self._quotas.check(self, record, self._session_beside_others)

    async def require_present(self, user_id: str) -> None:
        """Raise Conflict if the data of a user is erased or being erased. Keep an erasure from beginning.

        A user that is not visible has no data that could be added to.
        """
        statement = select(col(User.erased_at)).where(*self._scoped_conditions(User, [col(User.user_id) == user_id]))
        result = await self.write_session.execute(statement.with_for_update(read=True), execution_options=SCOPED_OPTION)
        if result.scalar() is not None:
            raise Conflict(f"The data of user {user_id} is erased. Add a new user instead.")

    async def _require_present_owner(self, record: Tenanted) -> None:
        """Raise Conflict if `guards_owners` is set and a record belongs to a user whose data is erased."""
        owner_column = type(record).owner
        user_id = getattr(record, owner_column) if self.guards_owners and owner_column is not None else None
        if user_id is not None and user_id not in self._present_users:
            await self.require_present(user_id)
            self._present_users.add(user_id)

    async def _record_bulk(self, model: type[M], where: Sequence[Condition], values: Mapping[str, Any] | None) -> None:
        """Record the rows that a statement is about to change or delete, if the operation is audited."""
        if self.recorder is None:
            return
        conditions = self._scoped_conditions(model, where)
        statement = select(*model_columns(model)).where(*conditions).limit(MAX_CHANGES + 1)
        rows = (await self._session.execute(statement, execution_options=SCOPED_OPTION)).mappings().all()
        self.recorder.record_bulk(display_name(model), model.key, [dict(row) for row in rows], values)

    @staticmethod
    def key_column(model: type[Tenanted]) -> Any:
        """Return the identifier column of the model."""
        return model_columns(model)[model.key]

    def _scoped_conditions(self, model: type[Tenanted], where: Iterable[Condition]) -> list[ColumnElement[bool]]:
        """Return the conditions and the filters on the application and, if they are set, the user and the home."""
        columns = model_columns(model)
        scope = [columns["application_id"] == self.application_id]
        if self.user_id is not None and model.owner is not None:
            scope.append(columns[model.owner] == self.user_id)
        if self.ve_id is not None:
            scope.append(home_condition(model, self.application_id, self.ve_id))
        # SQLModel types attributes as their values, so mypy takes a comparison for a bool
        return [*scope, *cast(Iterable[ColumnElement[bool]], where)]

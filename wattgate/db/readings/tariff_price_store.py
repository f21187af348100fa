"""Prices of dynamic tariffs in SQL.

Instants are milliseconds since 1970 (UTC), rates are millionths of a hundredth of the currency.
"""

from collections.abc import Collection, Sequence
from typing import cast

from sqlalchemy import MetaData, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite

from wattgate.db.connections.reader import DatabaseSession, dialect_name
from wattgate.db.models import TariffPrice
from wattgate.energy.costs.timeline import Price

_PRICES = cast(Table, TariffPrice.__table__)  # type: ignore[attr-defined]
_OWN_PRICES = _PRICES.to_metadata(MetaData(), name="own_tariff_price")
"""The view of the prices that the session may see, on PostgreSQL."""


class TariffPriceStore:
    """The prices that one session sees. Tariff ids must come from rows that `Rows` returned, never from a request."""

    def __init__(self, session: DatabaseSession) -> None:
        self._session = session

    async def upsert(self, tariff_id: str, prices: Sequence[Price]) -> None:
        """Insert or replace prices of a tariff. Each instant may occur once."""
        insert = (sqlite if dialect_name(self._session) == "sqlite" else postgresql).insert(TariffPrice)
        statement = insert.on_conflict_do_update(
            index_elements=["tariff_id", "at"], set_={"rate": insert.excluded.rate}
        )
        # in key order, so that two writers of the same tariff wait for each other instead of deadlocking
        rows = [{"tariff_id": tariff_id, "at": at, "rate": rate} for at, rate in sorted(prices)]
        connection = await self._session.connection()
        await connection.execute(statement, rows)

    async def latest_at(self, tariff_id: str) -> int | None:
        """Return the start of the last period with a price, or None if there is none."""
        prices_table = _OWN_PRICES if dialect_name(self._session) == "postgresql" else _PRICES
        latest = select(func.max(prices_table.c["at"])).where(prices_table.c["tariff_id"] == tariff_id)
        return cast("int | None", (await self._session.execute(latest)).scalar())

    async def list_between(
        self, tariff_ids: Collection[str], start: int, stop: int, *, limit: int | None = None
    ) -> dict[str, list[Price]]:
        """Return, by tariff, the prices that begin in [start, stop), in order.

        Tariffs without prices are left out. `limit` applies to all tariffs together.
        """
        prices: dict[str, list[Price]] = {}
        if not tariff_ids:
            return prices
        prices_table = _OWN_PRICES if dialect_name(self._session) == "postgresql" else _PRICES
        tariff, at_column, rate_column = (prices_table.c[name] for name in ("tariff_id", "at", "rate"))
        statement = (
            select(tariff, at_column, rate_column)
            .where(tariff.in_(tariff_ids), at_column >= start, at_column < stop)
            .order_by(tariff, at_column)
            .limit(limit)
        )
        for tariff_id, at, rate in await self._session.execute(statement):
            prices.setdefault(tariff_id, []).append(Price(at, rate))
        return prices

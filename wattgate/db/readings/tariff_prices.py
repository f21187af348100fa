"""The prices of dynamic tariffs in SQL. All instants are milliseconds since 1970 (UTC), rates millionths of a penny."""

from collections.abc import Collection, Sequence

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from wattgate.db.models import TariffPrice
from wattgate.db.reader import Session, dialect_of
from wattgate.energy.timeline import Price


class Prices:
    """The prices that one session sees. The ids of tariffs come from rows that `Rows` gave, never from outside."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def record(self, tariff_id: str, prices: Sequence[Price]) -> None:
        """Upsert prices of a tariff; no two for the same half hour."""
        insert = (sqlite if dialect_of(self._session) == "sqlite" else postgresql).insert(TariffPrice)
        statement = insert.on_conflict_do_update(
            index_elements=["tariff_id", "at"], set_={"rate": insert.excluded.rate}
        )
        # in key order, so that two writers of the same tariff wait for each other instead of deadlocking
        rows = [{"tariff_id": tariff_id, "at": at, "rate": rate} for at, rate in sorted(prices)]
        connection = await self._session.connection()
        await connection.execute(statement, rows)

    async def between(
        self, tariff_ids: Collection[str], start: int, stop: int, *, limit: int | None = None
    ) -> dict[str, list[Price]]:
        """By tariff that has any, its prices for half hours that begin from start to before stop, in order.

        With a limit, so many of all tariffs together.
        """
        found: dict[str, list[Price]] = {}
        if not tariff_ids:
            return found
        statement = (
            select(col(TariffPrice.tariff_id), col(TariffPrice.at), col(TariffPrice.rate))
            .where(col(TariffPrice.tariff_id).in_(tariff_ids))
            .where(col(TariffPrice.at) >= start, col(TariffPrice.at) < stop)
            .order_by(col(TariffPrice.tariff_id), col(TariffPrice.at))
            .limit(limit)
        )
        for tariff_id, at, rate in await self._session.execute(statement):
            found.setdefault(tariff_id, []).append(Price(at, rate))
        return found

"""The components of a gateway for the time of a command."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError

from wattgate.app.server.components import Components, build_components
from wattgate.app.settings import Settings
from wattgate.db.migrate import is_current
from wattgate.errors import Conflict, Unavailable

T = TypeVar("T")


async def with_gateway(settings: Settings, work: Callable[[Components], Awaitable[T]]) -> T:
    """Run `work` with the components of a gateway, then close its bus and database."""
    gateway = build_components(settings)
    try:
        async with gateway.bus:
            return await work(gateway)
    finally:
        await gateway.database.close()


@contextmanager
def unreachable_database_reported() -> Iterator[None]:
    """Raise Unavailable, with what to check, if the first statement on the database fails."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise Unavailable(
            f"The database does not answer: {error}. Check WATTGATE_DATABASE_URL, and run `wattgate doctor`."
        ) from None


async def with_current_gateway(settings: Settings, work: Callable[[Components], Awaitable[T]]) -> T:
    """Run `work` as `with_gateway` does. Raise Conflict unless the database has the schema of this version."""

    async def check_and_work(gateway: Components) -> T:
        with unreachable_database_reported():
            is_ready = await is_current(gateway.database)
        if not is_ready:
            raise Conflict("The database does not have the schema of this version. Run `wattgate db upgrade` first.")
        return await work(gateway)

    return await with_gateway(settings, check_and_work)

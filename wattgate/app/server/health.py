"""Health and readiness of a gateway, for load balancers and orchestrators."""

import logging

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from wattgate.app.server.edge.drain import Readiness
from wattgate.db.connections.engine import Database
from wattgate.errors import Unavailable
from wattgate.realtime.bus import Bus

log = logging.getLogger(__name__)


async def check_health(request: Request) -> Response:
    return JSONResponse({"status": "OK"})


async def check_readiness(readiness: Readiness, database: Database, bus: Bus) -> Response:
    """Return 200 while the database responds and the gateway is not draining, else 503.

    If Redis does not respond, the gateway is still ready: queries are correct and only live events are missing.
    """
    if readiness.draining:
        return JSONResponse({"status": "draining"}, 503)
    try:
        async with database.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError) as error:
        log.warning("Not ready: the database does not respond: %s", error)
        return JSONResponse({"status": "unavailable", "database": "does not answer"}, 503)
    try:
        await bus.check()
    except Unavailable as error:
        log.warning("Ready, but without live events: %s", error.message)
        return JSONResponse({"status": "OK", "live": "unavailable"})
    return JSONResponse({"status": "OK"})


async def log_row_security(database: Database) -> None:
    """Log whether PostgreSQL restricts statements to the rows of their scope. SQLite has no such policies."""
    if await database.lacks_row_security():
        log.warning("Row-level security is not active; run `wattgate db upgrade`, which says what is missing")
    elif not database.is_sqlite:
        log.info("Row-level security is active")

"""Migration of alert types and alerts from before variables were declared."""

import pytest
from sqlalchemy import Connection, text

from tests.db.test_migrations import migrate
from tests.support.tables import put
from wattgate.db.engine import Database


def fill(connection: Connection) -> None:
    migrate(connection, "0024")
    put(connection, "application", application_id="a")
    put(connection, "app_user", application_id="a", user_id="u")
    put(connection, "alert_type", application_id="a", alert_type_id="existing")
    put(connection, "alert", application_id="a", alert_id="existing", user_id="u", alert_type_id="existing")
    migrate(connection, "0027")
    # code of the version before inserts rows without the new columns
    connection.execute(
        text(
            "INSERT INTO alert_type (application_id, alert_type_id, name, system_alert_type_id, description, active) "
            "SELECT application_id, 'new', name, system_alert_type_id, description, active FROM alert_type "
            "WHERE alert_type_id = 'existing'"
        )
    )


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_existing_alert_types_stay_undeclared(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        kinds = await connection.execute(
            text("SELECT alert_type_id, variables, rule_kind FROM alert_type WHERE name NOT LIKE 'System%' ORDER BY 1")
        )
        assert [tuple(row) for row in kinds] == [("existing", None, None), ("new", None, None)]
        assert (await connection.execute(text("SELECT ve_id FROM alert"))).scalar_one() is None
        await connection.run_sync(lambda inner: migrate(inner, "0024", down=True))
        await connection.run_sync(lambda inner: migrate(inner, "0027"))
    await database.close()

"""The policies of PostgreSQL's row-level security, which restrict statements to the rows of their scope.

They are the second net below `Rows`: a statement without an application filter returns and changes nothing of other
applications. Every upgrade of the database installs the policies that the models need. SQLite has no such policies.
"""

import logging
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlmodel import SQLModel

from wattgate.db.connections.scoped_connection import ROW_ROLE
from wattgate.db.models import Application, Tenanted
from wattgate.db.scope.home_scope import home_sql
from wattgate.db.scope.tenancy_guard import tenanted_models

log = logging.getLogger(__name__)

POLICY = "wattgate_scope_2"
"""The name of each policy. Increase the number to replace the policies of all tables in the next upgrade."""

_APPLICATION = "application_id = (SELECT current_setting('wattgate.application', true))"
_USER = "(SELECT current_setting('wattgate.user', true))"
_HOME = "(SELECT coalesce(current_setting('wattgate.home', true), ''))"
"""The home of the scope; empty if the connection has none."""

SHARED_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "network_meter_point": "The registry of the meter network belongs to no application.",
        "network_device": "The registry of the meter network belongs to no application.",
        "network_reading": "The registry of the meter network belongs to no application.",
        "network_register": "The registry of the meter network belongs to no application.",
    }
)
"""The tables without a policy that statements of every scope may use, each with the reason."""

CLOSED_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "alembic_version": "Only migrations use it.",
        "secret_key": "Only SystemAccess.ROTATE_KEYS uses it.",
        "stored_event": "Only SystemAccess.SHARE_EVENTS uses it.",
        "reading": "Statements read the view own_reading. Writes use SystemAccess.RECORD_READINGS.",
        "reading_hour": "Statements read the view own_reading_hour. Writes use SystemAccess.RECORD_READINGS.",
        "reading_day": "Statements read the view own_reading_day. Writes use SystemAccess.RECORD_READINGS.",
    }
)
"""The tables that the role of the policies cannot use at all, each with the reason. Partitions are closed as well."""

APPEND_ONLY_TABLES = ("audit_entry",)
"""The tables whose rows the role of the policies can add and read, but neither change nor delete."""

VIEWS = ("own_reading", "own_reading_hour", "own_reading_day", "own_tariff_price")
"""The views that show the rows of the scope. Migrations create them."""

_PRICE_CONDITION = "EXISTS (SELECT 1 FROM tariff WHERE tariff.tariff_id = tariff_price.tariff_id)"
"""The policy of the table of tariffs applies to the subquery."""

_CREATE_ROLE = f"""
    DO $$ BEGIN
        IF to_regrole('{ROW_ROLE}') IS NULL THEN
            CREATE ROLE {ROW_ROLE} NOLOGIN;
        END IF;
        IF NOT pg_has_role(current_user, '{ROW_ROLE}', 'MEMBER') THEN
            GRANT {ROW_ROLE} TO CURRENT_USER;
        END IF;
    EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;  -- another database of the server has just created it
        WHEN insufficient_privilege THEN NULL;
    END $$"""
_SELECT_ROLE_STATE = text(
    "SELECT to_regrole(:role) IS NOT NULL AND pg_has_role(current_user, to_regrole(:role), 'MEMBER')"
)
_SELECT_POLICIES = text("""
    SELECT relname, polname FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
    WHERE relnamespace = current_schema()::regnamespace AND starts_with(polname, 'wattgate_')""")


def policy_conditions() -> Mapping[str, str]:
    """Return the condition of the policy of each table that has one, by the name of the table."""
    conditions = {"tariff_price": _PRICE_CONDITION}
    models = {str(model.__tablename__): model for model in tenanted_models()}
    for table in SQLModel.metadata.tables.values():
        if "application_id" in table.columns:
            model = models.get(table.name)
            owner = model.owner if model else None
            of_user = f" AND ({_USER} = '' OR {owner} = {_USER})" if owner else ""
            conditions[table.name] = _APPLICATION + of_user + _home_condition(table.name, model)
    return conditions


def _home_condition(table: str, model: type[Tenanted] | None) -> str:
    """Return what the policy of a table adds for a scope with a home."""
    if model is None:
        return "" if table == Application.__tablename__ else f" AND {_HOME} = ''"
    condition = home_sql(model, _HOME)
    if condition == "false":
        return f" AND {_HOME} = ''"
    return "" if condition == "true" else f" AND ({_HOME} = '' OR {condition})"


def install_policies(connection: Connection) -> None:
    """Create the role, the policies and the privileges that are missing. Log an instruction if that is not allowed."""
    if connection.dialect.name != "postgresql":
        return
    connection.execute(text(_CREATE_ROLE))
    if not connection.execute(_SELECT_ROLE_STATE, {"role": ROW_ROLE}).scalar_one():
        log.warning(
            "Row-level security is not active: role %s is missing, or this role is not a member of it. Run as a"
            " superuser: CREATE ROLE %s NOLOGIN; GRANT %s TO <role of the gateway>; and upgrade the database again",
            *[ROW_ROLE] * 3,
        )
        return
    installed = {(table, policy) for table, policy in connection.execute(_SELECT_POLICIES)}
    conditions = policy_conditions()
    if installed != {(table, POLICY) for table in conditions}:
        for statement in _policy_statements(conditions, installed):
            connection.execute(text(statement))


def _policy_statements(conditions: Mapping[str, str], installed: set[tuple[str, str]]) -> Iterator[str]:
    """Return the statements that replace policies. They lock only the tables whose policy is missing or outdated."""
    wanted = {(table, POLICY) for table in conditions}
    for table, policy in sorted(installed - wanted):
        yield f"DROP POLICY {policy} ON {table}"
    for table, _ in sorted(wanted - installed):
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        yield f"CREATE POLICY {POLICY} ON {table} TO {ROW_ROLE} USING ({conditions[table]})"
    usable = [table for table in (*conditions, *SHARED_TABLES) if table not in APPEND_ONLY_TABLES]
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {', '.join(usable)} TO {ROW_ROLE}"
    yield f"GRANT SELECT, INSERT ON {', '.join(APPEND_ONLY_TABLES)} TO {ROW_ROLE}"
    yield f"GRANT SELECT ON {', '.join(VIEWS)} TO {ROW_ROLE}"
    yield f"DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO {ROW_ROLE}', current_schema()); END $$"
    yield (
        "DO $$ BEGIN EXECUTE format("
        f"'GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO {ROW_ROLE}', current_schema()); END $$"
    )

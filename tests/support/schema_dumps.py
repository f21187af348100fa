"""The schema of a database as sorted text, to compare what migrations create with a file.

The dump of PostgreSQL comes from its catalogues, because `pg_dump` writes other text in each version.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from sqlalchemy import Connection, text

from wattgate.db.connections.scoped_connection import ROW_ROLE

DUMPS = Path(__file__).parents[1] / "data" / "schema"
"""The folder of the files that tests compare with."""

_IN_SCHEMA = "relnamespace = current_schema()::regnamespace AND relname <> 'alembic_version'"

_TABLES = f"""
    SELECT relname, concat_ws(' ', CASE relkind WHEN 'p' THEN 'partitioned table' ELSE 'table' END,
        nullif(relpersistence::text, 'p'), pg_get_partkeydef(oid), array_to_string(reloptions, ' '),
        obj_description(oid))
    FROM pg_class WHERE relkind IN ('r', 'p') AND {_IN_SCHEMA}"""

_COLUMNS = f"""
    SELECT relname, concat_ws(' ', row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname,
        format_type(atttypid, atttypmod),
        CASE WHEN attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(adbin, adrelid),
        'IDENTITY ' || nullif(attidentity::text, ''), 'GENERATED ' || nullif(attgenerated::text, ''),
        'COLLATE ' || nullif(nullif(attcollation::regcollation::text, '"default"'), '-'),
        col_description(attrelid, attnum))
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped AND {_IN_SCHEMA}"""

# since version 18, PostgreSQL also lists constraints of the kind NOT NULL, which the columns show
_CONSTRAINTS = f"""
    SELECT relname, concat_ws(' ', 'CONSTRAINT', conname, pg_get_constraintdef(pg_constraint.oid))
    FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid WHERE contype <> 'n' AND {_IN_SCHEMA}"""

_INDEXES = f"""
    SELECT relname, replace(pg_get_indexdef(indexrelid), current_schema() || '.', '')
    FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
    WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
    AND {_IN_SCHEMA}"""

_SEQUENCES = f"""
    SELECT relname, concat_ws(' ', 'sequence', seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache,
        seqcycle, 'of', refobjid::regclass, attname)
    FROM pg_sequence JOIN pg_class ON pg_class.oid = seqrelid
    LEFT JOIN pg_depend ON objid = seqrelid AND classid = 'pg_class'::regclass AND refobjsubid > 0
    LEFT JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid WHERE {_IN_SCHEMA}"""

_VIEWS = f"SELECT relname, 'view ' || pg_get_viewdef(oid) FROM pg_class WHERE relkind IN ('v', 'm') AND {_IN_SCHEMA}"

_TRIGGERS = f"""
    SELECT relname, replace(pg_get_triggerdef(pg_trigger.oid), current_schema() || '.', '')
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE NOT tgisinternal AND {_IN_SCHEMA}"""

_FUNCTIONS = """
    SELECT proname, replace(pg_get_functiondef(oid), current_schema() || '.', '') FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace"""

_TYPES = """
    SELECT typname, 'type ' || typtype::text FROM pg_type
    WHERE typnamespace = current_schema()::regnamespace AND typtype NOT IN ('c', 'b')"""

SCHEMA = (_TABLES, _COLUMNS, _CONSTRAINTS, _INDEXES, _SEQUENCES, _VIEWS, _TRIGGERS, _FUNCTIONS, _TYPES)

_POLICIES = f"""
    SELECT relname, concat_ws(' ', polname, polcmd::text, CASE WHEN polpermissive THEN 'permissive' END, 'TO',
        array_to_string(polroles::regrole[], ', '), 'USING', pg_get_expr(polqual, polrelid), 'CHECK',
        coalesce(pg_get_expr(polwithcheck, polrelid), '-'))
    FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE {_IN_SCHEMA}"""

_PROTECTED = f"""
    SELECT relname, concat_ws(' ', 'row security', CASE WHEN relforcerowsecurity THEN 'forced' END)
    FROM pg_class WHERE relrowsecurity AND {_IN_SCHEMA}"""

_GRANTS = f"""
    SELECT relname, concat_ws(' ', 'GRANT', string_agg(privilege_type, ', ' ORDER BY privilege_type), 'TO',
        grantee::regrole)
    FROM pg_class CROSS JOIN aclexplode(relacl) WHERE grantee <> relowner AND {_IN_SCHEMA}
    GROUP BY relname, grantee"""

_COLUMN_GRANTS = f"""
    SELECT relname, concat_ws(' ', 'GRANT', privilege_type, '(', attname, ') TO', grantee::regrole)
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid CROSS JOIN aclexplode(attacl) WHERE {_IN_SCHEMA}"""

_SCHEMA_GRANTS = f"""
    SELECT '(schema)', concat_ws(' ', 'GRANT', privilege_type, 'TO', grantee::regrole)
    FROM pg_namespace CROSS JOIN aclexplode(nspacl)
    WHERE oid = current_schema()::regnamespace AND grantee = to_regrole('{ROW_ROLE}')"""

ROW_SECURITY = (_PROTECTED, _POLICIES, _GRANTS, _COLUMN_GRANTS, _SCHEMA_GRANTS)


def dump_schema(connection: Connection) -> str:
    """Return tables, columns, constraints, indexes, views, sequences, triggers and functions, sorted by name."""
    if connection.dialect.name == "sqlite":
        return _format(_sqlite_facts(connection))
    return _format(_postgresql_facts(connection, SCHEMA))


def dump_row_security(connection: Connection) -> str:
    """Return the policies and privileges of a PostgreSQL database, sorted by table."""
    return _format(_postgresql_facts(connection, ROW_SECURITY))


def _postgresql_facts(connection: Connection, statements: Iterable[str]) -> list[tuple[str, str]]:
    rows = [row for statement in statements for row in connection.execute(text(statement)).all()]
    return [(str(owner), " ".join(str(fact).split())) for owner, fact in rows]


def _sqlite_facts(connection: Connection) -> list[tuple[str, str]]:
    """Return the statements of `sqlite_master`, those of tables in parts: SQLite stores the text of each definition."""
    rows = connection.execute(
        text("SELECT tbl_name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name <> 'alembic_version'")
    ).all()
    facts = []
    for name, kind, sql in rows:
        statement = " ".join(sql.split())
        if kind == "table":
            facts += [(name, fact) for fact in _table_parts(statement)]
        else:
            facts.append((name, statement))
    return facts


def _table_parts(statement: str) -> list[str]:
    """Return a CREATE TABLE as its options, its numbered columns, and its constraints."""
    start, end = statement.index("("), statement.rindex(")")
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", statement[start + 1 : end])]
    columns = [part for part in parts if not part.startswith(("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK"))]
    constraints = [part for part in parts if part not in columns]
    return [
        " ".join(f"table {statement[end + 1 :]}".split()),
        *(f"{number} {column}" for number, column in enumerate(columns, start=1)),
        *constraints,
    ]


def _format(facts: Iterable[tuple[str, str]]) -> str:
    """Return lines below the name that they belong to. Columns keep their order."""
    lines = []
    for name, group in groupby(sorted(facts, key=_order), key=lambda fact: fact[0]):
        lines += [name, *(f"    {fact}" for _, fact in group)]
    return "\n".join([*lines, ""])


def _order(fact: tuple[str, str]) -> tuple[str, int, str]:
    name, content = fact
    number, _, _ = content.partition(" ")
    return name, int(number) if number.isdigit() else 0, content

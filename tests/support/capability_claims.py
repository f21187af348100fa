"""The places in the code where a capability can be kept: columns, classes that keep a caller, and keys of Redis."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sqlalchemy import Column, LargeBinary
from sqlmodel import SQLModel

import wattgate
from wattgate.db import models
from wattgate.enums import CatchUpState, DeliveryKind, JobState
from wattgate.operations.credentials.credential_endings import STORED_CAPABILITIES

MODULES = sorted(Path(wattgate.__file__).parent.rglob("*.py"))

SECRET_NAME = re.compile(
    r"(.*_)?(token|secrets?|digest|password|credential|family|grant|session)(_.*)?|(code|key|pin)(_.*)?"
)
"""Names of columns with secrets, or with the ids of credentials."""

CREDENTIAL_TABLES = {stored.model.__tablename__ for stored in STORED_CAPABILITIES} | {
    models.Account.__tablename__,
    models.OAuthClient.__tablename__,
    models.ApplicationCredential.__tablename__,
}

JOB_STATES = (JobState, CatchUpState)
"""The types of the state of work that workers do later."""

REDIS_KEY = re.compile(r"\{wattgate\}:[a-z-]+")


def stored_columns() -> frozenset[str]:
    """Return the columns that hold secrets or depend on credentials, as `table.column`."""
    return frozenset(
        f"{table.name}.{column.name}"
        for table in SQLModel.metadata.sorted_tables
        for column in table.columns
        if _may_hold_capability(column)
    )


def _may_hold_capability(column: "Column[object]") -> bool:
    references = {key.column.table.name for key in column.foreign_keys}
    is_binary = isinstance(column.type, LargeBinary)
    return bool(SECRET_NAME.fullmatch(column.name) or is_binary or references & CREDENTIAL_TABLES)


def waiting_work() -> frozenset[str]:
    """Return the kinds of deliveries, and the tables of jobs, as `delivery KIND` and `job TABLE`."""
    jobs = {
        f"job {mapper.local_table.name}"  # type: ignore[attr-defined]
        for mapper in SQLModel._sa_registry.mappers
        if mapper.class_.model_fields.get("state") and mapper.class_.model_fields["state"].annotation in JOB_STATES
    }
    return frozenset(jobs | {f"delivery {kind.value}" for kind in DeliveryKind})


def redis_keys() -> frozenset[str]:
    """Return the starts of the keys that the code writes."""
    return _named_in_code()[0]


def classes_with_callers() -> frozenset[str]:
    """Return the classes that keep a Principal in an attribute, or that register as a connection, as `class NAME`."""
    return _named_in_code()[1]


@cache
def _named_in_code() -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of Redis and the classes with callers. One pass reads all modules, which takes a second."""
    keys, classes = set(), set()
    for node in _nodes():
        match node:
            case ast.Constant(value=str(text)) if key := REDIS_KEY.match(text):
                keys.add(key[0])
            case ast.ClassDef(name=name) if any(_keeps_caller(part) for part in ast.walk(node)):
                classes.add(f"class {name}")
    return frozenset(keys), frozenset(classes)


def _keeps_caller(node: ast.AST) -> bool:
    match node:
        case ast.AnnAssign(annotation=annotation):
            return re.search(r"\bPrincipal\b", ast.unparse(annotation)) is not None
        case ast.Assign(targets=targets):
            return any(isinstance(target, ast.Attribute) and target.attr.endswith("principal") for target in targets)
        case ast.Call(func=ast.Attribute(attr="add", value=ast.Attribute(attr="connections"))):
            return True
    return False


def _nodes() -> Iterator[ast.AST]:
    for path in MODULES:
        yield from ast.walk(ast.parse(path.read_text()))

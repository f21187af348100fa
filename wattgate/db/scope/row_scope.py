"""The rows that a session may touch: of an application, a user or a home, or all of them for a named reason.

On PostgreSQL the policies of row-level security enforce the scope of each statement (`db.row_security`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from wattgate.requests.fair_share import NO_OWNER


class RowScope(msgspec.Struct, frozen=True, gc=False):
    """The rows of one application, or only those of one of its users if `user_id` is set.

    With `ve_id`, only those of this home of the user (`db.scope.home_scope`).
    """

    application_id: str
    user_id: str | None = None
    ve_id: str | None = None


class SystemAccess(Enum):
    """The reasons for which a statement may touch the rows of all applications. A test lists every use."""

    FIND_CREDENTIALS = "The credential of a caller determines the application."
    FIND_OAUTH_CLIENT = "An OAuth client logs in with its client id, which determines the application."
    FILL_NETWORK_REGISTRY = "The records of the meter network belong to no application."
    FIND_WORK = "A background worker lists the applications that have work."
    FIND_HOME = "The command line finds the application of a home by the name of the home."
    LIST_AUDITED_APPLICATIONS = "The command line checks the audit logs of all applications."
    LIST_APPLICATIONS = "The command line lists the applications, and finds one by its name. Log-in pages find theirs."
    CREATE_APPLICATION = "A new application has no rows yet."
    RECORD_READINGS = "COPY and the creation of partitions are not possible under policies. The resources are checked."
    ROTATE_KEYS = "The keys of the stored secrets of all applications are checked and change together."
    ERASE_AUDIT_VALUES = "Entries of the audit log are read-only under policies. An erasure removes personal values."
    COMPARE_ERASURES = "The erasures and tenancies of all applications are compared with the list outside the database."
    SHARE_EVENTS = "The processes of all applications share the events about ends and changes."
    MAINTAIN_PARTITIONS = "Only the owner of a table creates and drops its partitions."


Scope = RowScope | SystemAccess


def owner_of(scope: Scope) -> str:
    """Return the owner of work in a scope, as `fair_share` counts it: the application, or "" for all of them."""
    return scope.application_id if isinstance(scope, RowScope) else NO_OWNER


@dataclass(slots=True)
class ScopeHolder:
    """The current scope of a session. Each statement runs in the scope that is set when it is sent."""

    scope: Scope


def scope_holder(session: Any) -> ScopeHolder:
    """Return the holder of the scope of a session that `Database` opened."""
    holder = session.info["scope"]
    assert isinstance(holder, ScopeHolder)
    return holder


@contextmanager
def system_access(session: Any, access: SystemAccess) -> Iterator[None]:
    """Let the statements of a session touch all rows until the context exits."""
    holder = scope_holder(session)
    previous = holder.scope
    holder.scope = access
    try:
        yield
    finally:
        holder.scope = previous

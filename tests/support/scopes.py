"""Row scopes of sessions that tests open themselves."""

from wattgate.db.scope.row_scope import SystemAccess

EVERYTHING = SystemAccess.FIND_WORK
"""The scope of tests that look at the stored rows of all applications."""

"""Records of what an operation changes, for the audit log. Values that may be secret or personal are left out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from wattgate.clock import format_iso

REDACTED = "[redacted]"
MAX_CHANGES = 100
"""The maximum number of records whose changes an entry holds. It holds the number of the others."""

READABLE_TEXT = frozenset({"channel_type", "classifier", "culture_code", "kind", "scope", "state", "status"})
"""The text columns whose values an entry shows. Other texts may be secret or personal, so the default is to redact."""

HIDDEN_TEXTS = frozenset({("device", "hardware_id"), ("device claim", "hardware_id"), ("prompt user", "status")})
"""The texts that are personal, by table, although their names are those of identifiers or of READABLE_TEXT."""

HIDDEN_KEYS = frozenset({"login backoff"})
"""The tables whose identifiers are digests of usernames, which can be guessed."""

IGNORED = frozenset({"created_at", "updated_at"})


class ChangeRecorder:
    """The records that an operation adds, changes and deletes.

    An entry holds identifiers, numbers, instants, flags and the columns of READABLE_TEXT. Other values are replaced by
    REDACTED: texts, JSON and bytes may hold passwords, secrets, names and addresses.
    """

    def __init__(self) -> None:
        # by the identity of the record, which an operation may edit twice
        self._edited: dict[int, tuple[str, str, Any, dict[str, Any]]] = {}
        self._changes: list[dict[str, Any]] = []
        self._omitted = 0
        self.application_id: str | None = None
        """The application of the first record."""

    def record_added(self, table: str, key: str, record: Any) -> None:
        """Record a new record. Its values are read when the operation ends."""
        self._record(table, key, record, {})

    def record_edited(self, table: str, key: str, record: Any) -> None:
        """Record an existing record that the operation may change."""
        self._record(table, key, record, _values(record))

    def record_bulk(
        self, table: str, key: str, before: Sequence[Mapping[str, Any]], after: Mapping[str, Any] | None
    ) -> None:
        """Record a statement that gives several records new values, or deletes them if `after` is None."""
        for row in before:
            changed = None if after is None else after
            self._add(table, row[key], row if changed is None else {name: row[name] for name in changed}, changed)

    def changes(self) -> list[dict[str, Any]]:
        """Return all changes as JSON, without records that were not changed."""
        for table, key, record, before in self._edited.values():
            after = _values(record)
            changed = {name for name in after if name not in before or before[name] != after[name]}
            if changed:
                old = {name: before[name] for name in changed} if before else None
                self._add(table, after[key], old, {name: after[name] for name in changed})
        self._edited.clear()
        return [*self._changes, *([{"omitted": self._omitted}] if self._omitted else [])]

    def _record(self, table: str, key: str, record: Any, before: dict[str, Any]) -> None:
        self.application_id = self.application_id or getattr(record, "application_id", None)
        self._edited.setdefault(id(record), (table, key, record, before))

    def _add(self, table: str, key: Any, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        if len(self._changes) >= MAX_CHANGES:
            self._omitted += 1
            return
        record_id = REDACTED if table in HIDDEN_KEYS else to_json(key)
        values = {"before": redact(before, table), "after": redact(after, table)}
        self._changes.append({"record": table, "id": record_id, **values})


def redact(values: Mapping[str, Any] | None, table: str = "") -> dict[str, Any] | None:
    """Return the values of columns as JSON. Replace those that may be secret or personal."""
    if values is None:
        return None
    hidden = {column for hidden_table, column in HIDDEN_TEXTS if hidden_table == table}
    hidden |= {"backoff_id"} if table in HIDDEN_KEYS else set()
    return {
        name: REDACTED if name in hidden and value is not None else _redact_value(name, value)
        for name, value in values.items()
        if name not in IGNORED
    }


def _redact_value(name: str, value: Any) -> Any:
    if (
        isinstance(value, str)
        and not isinstance(value, Enum)
        and not name.endswith("_id")
        and name not in READABLE_TEXT
    ):
        return REDACTED
    return to_json(value)


def to_json(value: Any) -> Any:
    """Return an identifier, number, instant or flag as JSON, and REDACTED for any other value."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return format_iso(value)
    if isinstance(value, str):
        return value.replace("\0", "")
    return REDACTED


def _values(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in type(record).model_fields}

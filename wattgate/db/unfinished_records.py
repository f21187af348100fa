"""Records of transactions of this process that have not ended yet. Counts of other transactions do not have them.

A transaction announces each record before it counts, and gets a number for it. Of two transactions at the same time,
the later one therefore knows of the record of the earlier one. Nobody waits. SQLite has one writer at a time, so its
transactions announce nothing.
"""

from bisect import bisect_left
from collections.abc import Hashable
from itertools import count

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

_KEY = "unfinished_records"

Numbers = dict[Session, list[int]]


class UnfinishedRecords:
    """The numbers of the announced records, in ascending order, by key and session."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, Numbers] = {}
        self._next = count()

    def announce(self, session: Session, key: Hashable) -> int:
        """Announce a record, until the transaction of the session ends. Return its number."""
        number = next(self._next)
        numbers = self._numbers.setdefault(key, {})
        if session not in numbers:
            numbers[session] = []
            session.info.setdefault(_KEY, []).append((self, key))
        numbers[session].append(number)
        return number

    def withdraw(self, session: Session, key: Hashable, number: int) -> None:
        """Forget a record that its transaction does not add, unless the transaction has ended."""
        if numbers := self._numbers.get(key, {}).get(session):
            numbers.remove(number)

    def before(self, session: Session, key: Hashable, number: int) -> int:
        """Return how many records other sessions have announced before the one with this number."""
        numbers = self._numbers.get(key, {})
        return sum(bisect_left(announced, number) for other, announced in numbers.items() if other is not session)

    def end(self, session: Session, key: Hashable) -> None:
        """Forget the records of a session, whose transaction has ended."""
        numbers = self._numbers[key]
        del numbers[session]
        if not numbers:
            del self._numbers[key]

    def __len__(self) -> int:
        return len(self._numbers)


def listen_to_ends(session_class: type[Session]) -> None:
    """Forget the records of the sessions of a class when their transactions end."""
    event.listen(session_class, "after_transaction_end", _forget)


def _forget(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        for records, key in session.info.pop(_KEY, ()):
            records.end(session, key)

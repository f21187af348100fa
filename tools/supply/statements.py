"""Statements about vulnerabilities in components, from vex.toml. The audit and the VEX file use the same ones."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from cyclonedx.model.impact_analysis import ImpactAnalysisJustification, ImpactAnalysisResponse, ImpactAnalysisState

from supply.policy import Accepted

STATEMENTS = Path(__file__).with_name("vex.toml")

ACCEPTED_STATES = frozenset(
    {ImpactAnalysisState.NOT_AFFECTED, ImpactAnalysisState.FALSE_POSITIVE, ImpactAnalysisState.EXPLOITABLE}
)
"""States in which the audit accepts a finding, until a day. In the other ones, the finding is a problem."""

MAX_EXPLOITABLE = timedelta(days=90)
"""The longest time until an update that SECURITY.md allows for a vulnerability that affects the gateway."""

UNUSED_STATES = frozenset({ImpactAnalysisState.RESOLVED_WITH_PEDIGREE})
"""States that need a component with patches of our own. The project has none."""


@dataclass(frozen=True)
class Statement:
    """The effect of a vulnerability in a component on wattgate. vex.toml describes the members."""

    id: str
    package: str
    state: ImpactAnalysisState
    detail: str
    since: date
    aliases: tuple[str, ...] = ()
    justification: ImpactAnalysisJustification | None = None
    responses: tuple[ImpactAnalysisResponse, ...] = ()
    tests: tuple[str, ...] = ()
    until: date | None = None
    versions: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the advisory."""
        return (self.id, *self.aliases)

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each member that is missing, or that does not fit the state."""
        is_unaffected = self.state is ImpactAnalysisState.NOT_AFFECTED
        is_exploitable = self.state is ImpactAnalysisState.EXPLOITABLE
        expected = {
            "justification": (is_unaffected, self.justification is not None),
            "tests": (is_unaffected, bool(self.tests)),
            "responses": (is_exploitable, bool(self.responses)),
            "until": (self.state in ACCEPTED_STATES, self.until is not None),
        }
        for member, (is_needed, is_present) in expected.items():
            if is_needed != is_present:
                yield f"{member} is {'missing' if is_needed else 'not allowed'} for the state {self.state.value}"
        if self.state in UNUSED_STATES:
            yield f"the state {self.state.value} is not used"
        if not (self.id.strip() and self.package.strip() and self.detail.strip()):
            yield "id, package or detail is empty"
        if self.until is not None and self.until < self.since:
            yield f"until {self.until} is before since {self.since}"
        if is_exploitable and self.until is not None and self.until > self.since + MAX_EXPLOITABLE:
            yield f"until {self.until} is more than {MAX_EXPLOITABLE.days} days after since {self.since}"


def read_statements(path: Path = STATEMENTS) -> list[Statement]:
    """Return the statements in the order of the file.

    Raise TypeError if one has an unknown member or lacks one. Raise ValueError if a value is not allowed, if members do
    not fit each other, or if two statements are about the same advisory of a package.
    """
    content = tomllib.loads(path.read_text())
    statements = [_parse_entry(entry, path.name) for entry in content.pop("statement", [])]
    if content:
        raise ValueError(f"unknown members in {path.name}: {', '.join(sorted(content))}")
    seen: set[tuple[str, str]] = set()
    for statement in statements:
        if problems := list(statement.problems()):
            raise ValueError(f"the statement {statement.id} in {path.name} is invalid: {'; '.join(problems)}")
        for name in statement.ids:
            if (statement.package, name) in seen:
                raise ValueError(f"{path.name} has two statements about {name} of {statement.package}. Keep one.")
            seen.add((statement.package, name))
    return statements


def accepted_findings(statements: Iterable[Statement]) -> Iterator[Accepted]:
    """Yield what the audit accepts: an entry for each name of an advisory that does not need an update for now."""
    for statement in statements:
        if statement.until is not None:
            reason = f"{statement.state.value}: {statement.detail}"
            yield from (Accepted(statement.package, name, reason, statement.until) for name in statement.ids)


def _parse_entry(entry: dict[str, Any], name: str) -> Statement:
    try:
        return _parse(**entry)
    except (TypeError, ValueError) as error:
        raise type(error)(f"the statement {entry.get('id', 'without id')} in {name} is invalid: {error}") from None


def _parse(
    *,
    state: str,
    justification: str | None = None,
    responses: Iterable[str] = (),
    aliases: Iterable[str] = (),
    tests: Iterable[str] = (),
    id: str,
    package: str,
    detail: str,
    since: date,
    until: date | None = None,
    versions: str | None = None,
) -> Statement:
    return Statement(
        id=id,
        package=package,
        state=ImpactAnalysisState(state),
        detail=detail.strip(),
        since=since,
        aliases=_list(aliases),
        justification=None if justification is None else ImpactAnalysisJustification(justification),
        responses=tuple(map(ImpactAnalysisResponse, _list(responses))),
        tests=_list(tests),
        until=until,
        versions=versions,
    )


def _list(texts: Iterable[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise TypeError(f"{texts!r} is a text, not a list of texts")
    return tuple(texts)

"""Compare what the registries know with the accepted findings, and report it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from supply.policy import Accepted
from supply.registries import Answer, Finding


@dataclass
class Outcome:
    """The lines of a report, its problems, and the number of questions that have no complete answer."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unanswered: int = 0


def judge(
    answers: Iterable[Answer], licence_problems: Sequence[str], accepted: Sequence[Accepted], today: date
) -> Outcome:
    """Return the outcome of an audit. Accepted findings are reported; they are problems again after their date."""
    outcome = Outcome()
    for answer in answers:
        if answer.asked:
            outcome.lines.append(f"{answer.question}: {answer.asked} packages asked, {len(answer.findings)} findings")
        outcome.lines += [f"{answer.question}: NOT ASKED: {reason}" for reason in answer.not_asked]
        outcome.unanswered += not answer.asked
        for finding in answer.findings:
            _judge_finding(finding, accepted, today, outcome)
    outcome.problems += [f"licence: {problem}" for problem in licence_problems]
    return outcome


def _judge_finding(finding: Finding, accepted: Iterable[Accepted], today: date, outcome: Outcome) -> None:
    names = {finding.id, *finding.aliases}
    entries = [one for one in accepted if one.package == finding.package and one.finding in names]
    entry = max(entries, key=lambda one: one.until, default=None)
    if entry is None:
        outcome.problems.append(str(finding))
    elif entry.until < today:
        outcome.problems.append(f"{finding} (was accepted until {entry.until}: {entry.reason})")
    else:
        outcome.lines.append(f"{finding} (accepted until {entry.until}: {entry.reason})")

#!/usr/bin/env python3
"""Audit the locked packages and the interpreter: yanked releases, known vulnerabilities, and licences of run time.

    python tools/dependency_audit.py                     # fails on a finding
    python tools/dependency_audit.py --require-answers   # also fails if a registry cannot answer

The registries are those that pip and npm are configured with. tools/supply/policy.toml lists the allowed licences
and the accepted yanked releases. tools/supply/vex.toml has the statements about vulnerabilities.
"""

import argparse
import sys
from datetime import UTC, datetime

from supply.audit import judge
from supply.interpreter import check_interpreter
from supply.licences import licence_problems, outdated, run_time_names
from supply.locks import DEVELOPMENT_LOCK, node_locks, read_pins
from supply.policy import read_policy
from supply.registries import ask_npm, ask_vulnerable, ask_yanked
from supply.statements import accepted_findings, read_statements


def main() -> int:
    """Print the report. Return 1 for a problem, 2 if a question has no answer and answers are required, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require-answers", action="store_true", help="fail if a registry cannot answer")
    options = parser.parse_args()
    pins = read_pins(DEVELOPMENT_LOCK)
    if missing := outdated(pins):
        print(f"Not installed in the locked version: {', '.join(missing)}. Run `make check` to install them.")
        return 1
    answers = [check_interpreter(sys.version_info[:3]), ask_yanked(pins), ask_vulnerable(pins)]
    answers += map(ask_npm, node_locks())
    policy = read_policy()
    accepted = [*policy.accepted, *accepted_findings(read_statements())]
    names = run_time_names()
    outcome = judge(answers, list(licence_problems(names, policy)), accepted, datetime.now(UTC).date())
    print("\n".join([*outcome.lines, f"licences: {len(names)} packages of run time checked"]))
    for problem in outcome.problems:
        print(f"PROBLEM: {problem}")
    if outcome.problems:
        return 1
    if outcome.unanswered:
        print(f"{outcome.unanswered} of {len(answers)} questions have no answer. This audit does not cover them.")
    return 2 if outcome.unanswered and options.require_answers else 0


if __name__ == "__main__":
    sys.exit(main())

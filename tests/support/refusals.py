"""Refusals in answers of GraphQL: entries in `errors`, and what a mutation returns in place of its record."""

import re
from typing import Any

from wattgate.enums import RefusalCode

_DECLARED_CODES = frozenset(RefusalCode.__members__) - {"BAD_INPUT"}
_FRAGMENT = "fragment Refused on Refusal { refusal: code message reason problems { path message } }"


def with_refusals(document: str) -> str:
    """Return a document with the fragment `Refused` of its mutations, if it spreads it."""
    return f"{document}\n{_FRAGMENT}" if "...Refused" in document and _FRAGMENT not in document else document


def refusals(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the code, message, reason, path and problems of each refusal and error of an answer, refusals first."""
    found = [
        {**value, "code": value["refusal"], "path": [key], "problems": list(map(_with_positions, value["problems"]))}
        for key, value in (answer.get("data") or {}).items()
        if isinstance(value, dict) and "refusal" in value
    ]
    errors = answer.get("errors", ())
    return found + [{**error["extensions"], "message": error["message"], "path": error.get("path")} for error in errors]


def _with_positions(problem: dict[str, Any]) -> dict[str, Any]:
    """Return a problem of a refusal with the positions in its path as numbers, as errors have them."""
    return {**problem, "path": [int(part) if part.isdigit() else part for part in problem["path"]]}


def refusal_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the first refusal or error of an answer, as `refusals` does."""
    return refusals(answer)[0]


def undeclared_refusals(document: str, answer: dict[str, Any]) -> list[str]:
    """Return the refusals of the mutations of a document that came as errors: the operations do not declare them.

    BAD_INPUT is also an error of values that are not of their declared type.
    """
    if not re.match(r"\s*mutation\b", document):
        return []
    return [
        f"{error['path'][0]}: {error['extensions']['code']}"
        for error in answer.get("errors", ())
        if len(error.get("path") or ()) == 1 and error["extensions"]["code"] in _DECLARED_CODES
    ]

"""Odd values for every operation, on both interfaces: no request stalls the loop, grows the process or fails inside.

The short form replaces a few values of each operation. `make fuzz` replaces every value by every odd value, for all
callers.
"""

import json
import os
import random
import re
import resource
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.examples import EXAMPLES
from tests.support.house import House, house
from tests.support.interfaces import document, field_of, is_in_graphql, to_graphql_variables
from tests.support.legacy import REST_ARGUMENTS
from tests.support.odd_values import Path, odd_values, replaceable, rest_name, value_at, with_value
from tests.support.servers import Databases
from tests.support.short_form import sample
from tests.support.stalls import Stall, StallRecorder
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.principal import GRANTS, Role

RUN_LAST = ["delete_token", "revoke_token", "change_password", "delete_account", "delete_user"]
"""Operations that run last, because they end logins or delete users."""

SHORT_CASES = 2
"""Replaced values of each operation in the short form."""

ATTEMPTS = 3
"""A request stalls the loop if each of so many attempts does. The first one may compile a document."""

MAX_GROWTH_BYTES = 400 << 20
"""Maximum growth of the process's memory in the whole run."""

DOCUMENTED_UNAVAILABLE = {"UNAVAILABLE", "TIMED_OUT"}
"""Codes of responses with status 503."""

MAX_URL_LENGTH = 30_000
"""Maximum length of a URL in the test. uvicorn rejects longer ones before the gateway sees them."""

FUZZ = os.environ.get("WATTGATE_TEST_FUZZ")


@dataclass(frozen=True, slots=True)
class Case:
    """A value to replace in the example of an operation."""

    path: Path
    name: str
    value: Any

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.name}"


def operations() -> list[Operation]:
    """Return all operations with arguments. The operations of RUN_LAST come last."""
    served = [one for one in OPERATIONS if one.kind is not OperationKind.SUBSCRIPTION and one.arguments]
    return sorted(served, key=lambda one: RUN_LAST.index(one.name) if one.name in RUN_LAST else -1)


@pytest.fixture(scope="module")
async def fuzzed(databases: Databases) -> AsyncIterator[House]:
    async with databases() as url, house(url) as fuzzed_house:
        yield fuzzed_house


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MAX_GROWTH_BYTES


@pytest.mark.timeout(600 if FUZZ is None else 7_200)
async def test_odd_values(fuzzed: House, stalls_of_session: StallRecorder, subtests: pytest.Subtests) -> None:
    for operation in sample(operations(), lambda one: one.name):
        with subtests.test(operation.name):
            example = await EXAMPLES[operation.name](fuzzed.one)
            findings = [
                finding
                for number, case in enumerate(_cases(operation, example))
                for caller in _callers(operation, number)
                for finding in await _findings(fuzzed, stalls_of_session, operation, case, caller, example)
            ]
            stalls_of_session.stalls.clear()  # the findings have those that were seen each time
            assert findings == []


def _cases(operation: Operation, example: dict[str, Any]) -> list[Case]:
    """Return the cases of an operation. The short form has the same few in each run."""
    cases = [
        Case(path, name, value)
        for defined in field_of(operation).args.values()
        for path, type_ in replaceable(defined.type, (rest_name(defined),))
        for name, value in odd_values(type_, value_at(example, path)).items()
    ]
    if FUZZ is None:
        return random.Random(operation.name).sample(cases, min(SHORT_CASES, len(cases)))
    return cases


def _callers(operation: Operation, number: int) -> list[str]:
    """Return the callers of a case: all in the long form, else one with the permission and sometimes nobody."""
    if FUZZ is not None:
        return ["anonymous", "account", "application"]
    permitted = "account" if operation.needs in GRANTS[Role.ACCOUNT] else "application"
    return [permitted, "anonymous"] if number == 0 else [permitted]


async def _findings(
    house_: House, recorder: StallRecorder, operation: Operation, case: Case, caller: str, example: dict[str, Any]
) -> list[str]:
    """Send a case on both interfaces. Return what is wrong with the responses and with the time that they took."""
    variables = with_value(example, case.path, case.value)
    headers = house_.one.headers.get(caller, {})
    findings = []
    for door, request in _requests(operation, variables):
        stalls: list[Stall] = []
        for _ in range(ATTEMPTS):
            recorder.stalls.clear()
            status, code = await _send(house_, request, headers)
            stalls = recorder.stalls[:]
            if (status >= 500 and not (status == 503 and code in DOCUMENTED_UNAVAILABLE)) or code == "INTERNAL":
                findings.append(f"{door} as {caller}, {case}: {status} {code}")
                break
            if not stalls:
                break
        findings += [f"{door} as {caller}, {case}: {stall}" for stall in stalls]
    return findings


def _requests(operation: Operation, variables: dict[str, Any]) -> Iterator[tuple[str, tuple[str, str, bytes]]]:
    """Yield each interface with the method, URL and body of its request."""
    if is_in_graphql(operation):
        body = json.dumps(
            {"query": document(operation, variables), "variables": to_graphql_variables(operation, variables)}
        )
        yield "GraphQL", ("POST", "/graphql", body.encode())
    for rest in operation.rest:
        change = REST_ARGUMENTS.get(rest.route_key)
        try:
            remaining = dict(change(variables) if change else variables)
        except (AttributeError, ArithmeticError, KeyError, TypeError, ValueError, IndexError):
            continue  # the odd value has no form in the format of this endpoint

        def in_path(match: re.Match[str], values: dict[str, Any] = remaining) -> str:
            return _as_text(values.pop(match[1], ""))

        url = "/api/v0-1" + re.sub(r"\{(\w+)\}", in_path, rest.path)
        if rest.method == "GET":
            url += "?" + "&".join(f"{name}={_as_text(value)}" for name, value in remaining.items())
        content = b"" if rest.method == "GET" else json.dumps(remaining.get("input", remaining)).encode()
        if len(url) <= MAX_URL_LENGTH:
            yield rest.route_key, (rest.method, url, content)


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


async def _send(house_: House, request: tuple[str, str, bytes], headers: dict[str, str]) -> tuple[int, str | None]:
    """Return the status and the error code of the response."""
    method, url, content = request
    response = await house_.http.request(
        method, url, content=content, headers={"content-type": "application/json", **headers}
    )
    if "json" not in response.headers.get("content-type", ""):
        return response.status_code, None
    body = response.json()
    if not isinstance(body, dict):
        return response.status_code, None
    errors = body.get("errors")
    code = errors[0]["extensions"].get("code") if errors and "extensions" in errors[0] else body.get("code")
    return response.status_code, code if isinstance(code, str) else None

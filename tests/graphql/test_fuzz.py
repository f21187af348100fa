"""schemathesis against the GraphQL schema and a running gateway: no document causes a 5xx or an internal error."""

import os
import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from graphql import ArgumentNode, IntValueNode, ObjectFieldNode, StringValueNode, Visitor, parse, print_ast, visit
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.graphql import nodes, scalar

from tests.support.house import PASSWORD, House, Tenant, house
from tests.support.servers import Databases
from wattgate import errors
from wattgate.enums import to_camel_case

SCHEMA = (Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql").read_text()
CODES = {one.code for one in errors.GatewayError.__subclasses__()} - {"INTERNAL", "TIMED_OUT"}
"""Error codes that responses may contain. Nothing here runs into the time limit."""

LOGINS = {"administrator": "admin@one.example", "account": "user@one.example"}
"""The callers, used in turn, and their usernames."""

RUN_LAST = ["deleteToken", "revokeToken", "changePassword", "deleteAccount", "deleteUser"]
"""Operations that run last, because they end logins or delete users."""

SHORT_ID_NAMES = {
    "veId": "virtual_entity",
    "veTypeId": "virtual_entity_type",
    "tcId": "terms_conditions",
    "ruleId": "alert_rule",
}
"""Names of ids that do not contain the name of the record."""

LOG_IN = """mutation ($application: ID!, $username: String!, $password: String!) {
  authenticate(applicationId: $application, username: $username, password: $password) { token }
}"""


@dataclass(frozen=True, slots=True)
class Scale:
    """The number of valid and invalid documents of an operation. One of `invalid_every` has invalid documents."""

    seed: int
    valid: int
    invalid: int
    invalid_every: int = 1


def scale() -> Scale:
    """Return the scale of a long run if WATTGATE_TEST_FUZZ contains its seed, else the short scale."""
    first_seed = os.environ.get("WATTGATE_TEST_FUZZ")
    if first_seed is None:
        return Scale(1, valid=1, invalid=1, invalid_every=3)
    return Scale(int(first_seed), valid=40, invalid=20)


@cache
def documents() -> list[tuple[str, bool]]:
    """Return documents of all operations, and whether each is invalid on purpose.

    They are created before the gateway starts, because hypothesis fails if other code draws random numbers meanwhile.
    """
    _register_scalars()
    cases: list[tuple[str, bool]] = []
    found_in_schema = schemathesis.graphql.from_file(SCHEMA).get_all_operations()
    operations = [operation.ok() for operation in found_in_schema if isinstance(operation, Ok)]
    assert operations
    names = {operation: operation.label.partition(".")[2] for operation in operations}
    in_order = sorted(
        operations, key=lambda operation: RUN_LAST.index(names[operation]) if names[operation] in RUN_LAST else -1
    )
    for position, operation in enumerate(in_order):
        cases += _cases(operation.as_strategy(generation_mode=GenerationMode.POSITIVE), scale().valid)
        if position % scale().invalid_every == 0:
            cases += _cases(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), scale().invalid)
    return cases


def _cases(strategy: st.SearchStrategy[Any], count: int) -> list[tuple[str, bool]]:
    cases: list[tuple[str, bool]] = []

    @seed(scale().seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def gather(case: Any) -> None:
        cases.append((case.body, case.meta.generation.mode.is_negative))

    gather()
    return cases


def _register_scalars() -> None:
    """Register strategies for the values of custom scalars with schemathesis."""
    numbers = st.decimals(allow_nan=False, allow_infinity=False).map(str)
    unusual = st.sampled_from(["NaN", "-Infinity", "1e400", "-0", "1_0", " 1", "0x1", ""])
    zones = st.sampled_from(["Europe/London", "UTC", "Asia/Kathmandu", "+05:30", "Nowhere", "../UTC", ""])
    text = st.text().map(nodes.String)
    scalar("Decimal", (numbers | unusual).map(nodes.String) | st.integers().map(nodes.Int))
    scalar("TimeZone", zones.map(nodes.String))
    scalar("JSON", text | st.integers().map(nodes.Int) | st.booleans().map(nodes.Boolean))


class ExistingIds(Visitor):
    """Replace three of four ids by those of existing records, so that not all results are NOT_FOUND."""

    def __init__(self, tenant: Tenant, chance: random.Random) -> None:
        super().__init__()
        self._known = {f"{to_camel_case(name)}Id": record_id for name, record_id in tenant.ids.items()}
        self._known |= {short: tenant.ids[name] for short, name in SHORT_ID_NAMES.items()}
        self._known |= {"userId": tenant.user_id, "accountId": tenant.account_id, "mpxn": tenant.ids["mpxn"]}
        self._chance = chance
        self._names: list[str] = []

    def enter_argument(self, node: ArgumentNode, *_: object) -> None:
        self._names.append(node.name.value.removesuffix("s"))

    def enter_object_field(self, node: ObjectFieldNode, *_: object) -> None:
        self._names.append(node.name.value.removesuffix("s"))

    def leave_argument(self, *_: object) -> None:
        self._names.pop()

    leave_object_field = leave_argument

    def enter_string_value(self, node: StringValueNode | IntValueNode, *_: object) -> StringValueNode | None:
        name = self._names[-1] if self._names else ""
        if self._chance.random() < 0.25 or not (name.endswith("Id") or name == "mpxn"):
            return None
        ids = [
            record_id
            for argument_name, record_id in self._known.items()
            if argument_name.lower().endswith(name.lower())
        ]
        return StringValueNode(value=self._chance.choice(ids or [*self._known.values()]))

    enter_int_value = enter_string_value


async def log_in(served: House, username: str) -> dict[str, str]:
    variables = {"application": served.one.application_id, "username": username, "password": PASSWORD}
    result = await served.graphql(LOG_IN, {}, **variables)
    login = result["data"]["authenticate"]
    return {"token": login["token"]} if login else {}


@pytest.mark.long("sends random documents; `tests/graphql/compiled` compares shorter runs of them")
@pytest.mark.timeout(3_600)
async def test_random_documents_are_answered_or_rejected_without_server_errors(databases: Databases) -> None:
    chance = random.Random(scale().seed)
    cases = documents()
    codes: Counter[str] = Counter()
    failures = []
    async with databases() as url, house(url, caller_budget=0, application_budget=0) as home:
        headers = {login: home.one.headers[login] for login in LOGINS}
        for (document, negative), login in zip(cases, cycle(LOGINS), strict=False):
            text = document if negative else print_ast(visit(parse(document), ExistingIds(home.one, chance)))
            answer = await home.http.post("/graphql", json={"query": text}, headers=headers[login])
            error_codes = [error["extensions"]["code"] for error in answer.json().get("errors", ())]
            codes.update(error_codes or ["data"])
            if answer.status_code >= 500 or not CODES.issuperset(error_codes) or (negative and not error_codes):
                failures.append(f"{answer.status_code} {answer.text[:500]}\n{text}")
            if "UNAUTHENTICATED" in error_codes:
                headers[login] = await log_in(home, LOGINS[login])
    assert failures == []
    assert codes["data"] > len(cases) / 5, codes  # enough documents pass validation and permissions

"""schemathesis against the GraphQL schema and a running gateway: no 5xx and no fault of ours, whatever is asked."""

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
from wattgate.enums import camel

SCHEMA = (Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql").read_text()
CODES = {one.code for one in errors.GatewayError.__subclasses__()} - {"INTERNAL", "TIMED_OUT"}
"""What may be told: nothing here takes long."""

WHO = {"administrator": "admin@one.example", "account": "user@one.example"}
"""Who asks, in turn, and how they log in."""

LAST = ["deleteToken", "revokeToken", "changePassword", "deleteAccount", "deleteUser"]
"""What ends log-ins and takes people away, after which there is less to be found."""

SHORT = {
    "veId": "virtual_entity",
    "veTypeId": "virtual_entity_type",
    "tcId": "terms_conditions",
    "ruleId": "alert_rule",
}
"""Names of ids that do not say of what record."""

LOG_IN = """mutation ($application: ID!, $username: String!, $password: String!) {
  authenticate(applicationId: $application, username: $username, password: $password) { token }
}"""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many documents are made of each operation, right ones and wrong ones."""

    seed: int
    right: int
    wrong: int


def scale() -> Scale:
    """What WATTGATE_TEST_FUZZ, the seed of a long run, asks for, or the short form."""
    asked = os.environ.get("WATTGATE_TEST_FUZZ")
    return Scale(1, right=2, wrong=1) if asked is None else Scale(int(asked), right=40, wrong=20)


@cache
def documents() -> list[tuple[str, bool]]:
    """Documents of all operations, and whether each is wrong on purpose. They are made before anything is served:
    hypothesis does not bear that others draw random numbers meanwhile.
    """
    _tell_scalars()
    found: list[tuple[str, bool]] = []
    found_in_schema = schemathesis.graphql.from_file(SCHEMA).get_all_operations()
    operations = [one.ok() for one in found_in_schema if isinstance(one, Ok)]
    assert operations
    names = {one: one.label.partition(".")[2] for one in operations}
    for one in sorted(operations, key=lambda one: LAST.index(names[one]) if names[one] in LAST else -1):
        for mode, count in ((GenerationMode.POSITIVE, scale().right), (GenerationMode.NEGATIVE, scale().wrong)):
            found += _cases(one.as_strategy(generation_mode=mode), count)
    return found


def _cases(strategy: st.SearchStrategy[Any], count: int) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []

    @seed(scale().seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def gather(case: Any) -> None:
        found.append((case.body, case.meta.generation.mode.is_negative))

    gather()
    return found


def _tell_scalars() -> None:
    """Tell schemathesis how values of our own scalars look."""
    numbers = st.decimals(allow_nan=False, allow_infinity=False).map(str)
    odd = st.sampled_from(["NaN", "-Infinity", "1e400", "-0", "1_0", " 1", "0x1", ""])
    zones = st.sampled_from(["Europe/London", "UTC", "Asia/Kathmandu", "+05:30", "Nowhere", "../UTC", ""])
    text = st.text().map(nodes.String)
    scalar("Decimal", (numbers | odd).map(nodes.String) | st.integers().map(nodes.Int))
    scalar("TimeZone", zones.map(nodes.String))
    scalar("JSON", text | st.integers().map(nodes.Int) | st.booleans().map(nodes.Boolean))


class Ids(Visitor):
    """Puts ids of records that there are in their places, three times of four, so that more than NOT_FOUND is met."""

    def __init__(self, tenant: Tenant, chance: random.Random) -> None:
        super().__init__()
        self._known = {f"{camel(name)}Id": one for name, one in tenant.ids.items()}
        self._known |= {short: tenant.ids[name] for short, name in SHORT.items()}
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
        found = [one for known, one in self._known.items() if known.lower().endswith(name.lower())]
        return StringValueNode(value=self._chance.choice(found or [*self._known.values()]))

    enter_int_value = enter_string_value


async def logged_in(served: House, username: str) -> dict[str, str]:
    given = {"application": served.one.application_id, "username": username, "password": PASSWORD}
    told = await served.graphql(LOG_IN, {}, **given)
    return {"token": told["data"]["authenticate"]["token"]} if told["data"] else {}


@pytest.mark.timeout(3_600)
async def test_whatever_is_asked_is_answered_or_refused_in_good_order(databases: Databases) -> None:
    chance = random.Random(scale().seed)
    asked = documents()
    codes: Counter[str] = Counter()
    wrong = []
    async with databases() as url, house(url, caller_budget=0, application_budget=0) as made:
        headers = {who: made.one.headers[who] for who in WHO}
        for (document, negative), who in zip(asked, cycle(WHO), strict=False):
            text = document if negative else print_ast(visit(parse(document), Ids(made.one, chance)))
            answer = await made.http.post("/graphql", json={"query": text}, headers=headers[who])
            told = [error["extensions"]["code"] for error in answer.json().get("errors", ())]
            codes.update(told or ["data"])
            if answer.status_code >= 500 or not CODES.issuperset(told) or (negative and not told):
                wrong.append(f"{answer.status_code} {answer.text[:500]}\n{text}")
            if "UNAUTHENTICATED" in told:
                headers[who] = await logged_in(made, WHO[who])
    assert wrong == []
    assert codes["data"] > len(asked) / 5, codes  # the fuzz reaches behind what checks a request

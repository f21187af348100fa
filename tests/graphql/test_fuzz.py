"""schemathesis against the GraphQL schema and a running gateway: no document causes a 5xx or an internal error."""

import random
from collections import Counter
from importlib import import_module
from itertools import cycle

import pytest
from graphql import ArgumentNode, IntValueNode, ObjectFieldNode, StringValueNode, Visitor, parse, print_ast, visit

from tests.support.house import PASSWORD, House, Tenant, house
from tests.support.servers import Databases
from wattgate import errors
from wattgate.enums import to_camel_case

CODES = {one.code for one in errors.GatewayError.__subclasses__()} - {"INTERNAL", "TIMED_OUT"}
"""Error codes that responses may contain. Nothing here runs into the time limit."""

DOCUMENTS = "tests.graphql.random_documents"
"""The module that draws the documents. Each worker collects this test, and only one runs it and needs schemathesis."""

LOGINS = {"administrator": "admin@one.example", "account": "user@one.example"}
"""The callers, used in turn, and their usernames."""

SHORT_ID_NAMES = {
    "homeId": "virtual_entity",
    "homeTypeId": "virtual_entity_type",
    "tcId": "terms_conditions",
    "ruleId": "alert_rule",
}
"""Names of ids that do not contain the name of the record."""

LOG_IN = """mutation ($application: ID!, $username: String!, $password: String!) {
  authenticate(applicationId: $application, username: $username, password: $password) { ... on Login { token } }
}"""


class ExistingIds(Visitor):
    """Replace three of four ids by those of existing records, so that not all results are NOT_FOUND."""

    def __init__(self, tenant: Tenant, chance: random.Random) -> None:
        super().__init__()
        self._known = {f"{to_camel_case(name)}Id": record_id for name, record_id in tenant.ids.items()}
        self._known |= {short: tenant.ids[name] for short, name in SHORT_ID_NAMES.items()}
        self._known |= {
            "userId": tenant.user_id,
            "accountId": tenant.account_id,
            "meterPointNumber": tenant.ids["mpxn"],
        }
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
        if self._chance.random() < 0.25 or not (name.endswith("Id") or name == "meterPointNumber"):
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
    generator = import_module(DOCUMENTS)
    chance = random.Random(generator.scale().seed)
    cases: list[tuple[str, bool]] = generator.documents()
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

"""Purposes of the uniform kinds of records: content, answers of users, alert types, and types of homes and devices."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.rest_compat.purposes.walk import Headers, Walk, nodes
from wattgate.values.graphql_names import graphql_path, graphql_type_name

Body = Callable[[Walk], dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of records: its path, its name in GraphQL, the clauses of its purposes, and the input of a new record.

    `connection` is the list over GraphQL. `shown` are members that GraphQL has in another form than the input.
    """

    path: str
    name: str
    listed: str
    added: str
    found: str
    connection: str
    body: Body
    key: str
    of_user: bool = False
    shown: Callable[[dict[str, Any]], dict[str, Any]] = dict

    @property
    def one(self) -> str:
        """The path of one record in SPEC.md."""
        id_name = "id" if self.path in ("/vetype", "/devicetype") else self.key
        return f"{self.path}/{{{id_name}}}"


def text() -> str:
    return uuid4().hex[:8]


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    return {"tcId": body["tcId"], "accepted": body["data"]["dataAccess"]["valid"]}


KINDS = [
    Kind(
        "/content",
        "Content",
        "list content objects of the application",
        "add a content object",
        "get",
        "application { contents(first: 100) {",
        lambda walk: {"reference": text(), "name": "News", "data": {"a": [1]}},
        "contentId",
    ),
    Kind(
        "/languagecontent",
        "LanguageContent",
        "list",
        "add language content objects",
        "get",
        "",
        lambda walk: {"contentId": walk.tenant.ids["content"], "cultureCode": "de-AT", "data": {"t": text()}},
        "languageContentId",
    ),
    Kind(
        "/termsconditions",
        "TermsConditions",
        "list",
        "add terms and conditions",
        "get terms and conditions by ID",
        "application { termsConditions(first: 100) {",
        lambda walk: {"reference": text(), "version": "2.0", "validFrom": "2026-01-02T00:00:00.000Z"},
        "tcId",
    ),
    Kind(
        "/termsconditionsuser",
        "TermsConditionsUser",
        "list responses to terms and conditions",
        "add a user's response",
        "GET",
        "viewer { termsConditionsUsers(first: 100) {",
        lambda walk: {"tcId": walk.tenant.ids["terms_conditions"], "data": {"dataAccess": {"valid": False}}},
        "tcUserId",
        of_user=True,
        shown=_answer,
    ),
    Kind(
        "/supportdetails",
        "SupportDetails",
        "list",
        "add support details objects",
        "get a support details object",
        "application { supportDetails(first: 100) {",
        lambda walk: {"reference": text(), "country": "IE", "email": "help@example.org"},
        "supportDetailsId",
    ),
    Kind(
        "/faq",
        "Faq",
        "GET",
        "add a FAQ object",
        "get a FAQ object",
        "",
        lambda walk: {
            "reference": text(),
            "version": "2.0.0",
            "minimumVersion": "1.0.0",
            "country": "GB",
            "data": [{"question": "Why?", "reply": "Because."}],
        },
        "faqId",
    ),
    Kind(
        "/prompttype",
        "PromptType",
        "list",
        "add prompt types",
        "get a prompt type",
        "application { promptTypes(first: 100) {",
        lambda walk: {"name": text()},
        "promptTypeId",
    ),
    Kind(
        "/prompt",
        "Prompt",
        "list",
        "add prompts",
        "get a prompt",
        "application { prompts(first: 100) {",
        lambda walk: {"promptTypeId": walk.tenant.ids["prompt_type"], "name": text()},
        "promptId",
    ),
    Kind(
        "/promptuser",
        "PromptUser",
        "list",
        "add prompt users",
        "get a prompt user",
        "viewer { promptUsers(first: 100) {",
        lambda walk: {"promptId": walk.tenant.ids["prompt"], "status": "dismissed"},
        "promptUserId",
        of_user=True,
    ),
    Kind(
        "/useractiontype",
        "UserActionType",
        "list",
        "add user action types",
        "get a user action type",
        "application { userActionTypes(first: 100) {",
        lambda walk: {"name": text()},
        "userActionTypeId",
    ),
    Kind(
        "/useraction",
        "UserAction",
        "list",
        "add user actions",
        "get a user action",
        "viewer { userActions(first: 100) {",
        lambda walk: {"userActionTypeId": walk.tenant.ids["user_action_type"], "data": {"page": text()}},
        "userActionId",
        of_user=True,
    ),
    Kind(
        "/alerttype",
        "AlertType",
        "list alert types of the application",
        "POST",
        "find an alert type",
        "application { alertTypes {",
        lambda walk: {"systemAlertTypeId": text(), "description": "No data", "name": "Silence"},
        "alertTypeId",
    ),
    Kind(
        "/vetype",
        "VirtualEntityType",
        "list",
        "add virtual entity types",
        "find",
        "application { homeTypes(first: 100) {",
        lambda walk: {"name": text(), "description": "A flat"},
        "veTypeId",
    ),
    Kind(
        "/devicetype",
        "DeviceType",
        "list",
        "add device types",
        "find a device type",
        "application { deviceTypes(first: 100) {",
        lambda walk: {"description": text(), "protocol": {"protocol": "MQTT", "sensors": []}},
        "deviceTypeId",
    ),
]


def members(record: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a record that have these names."""
    return {name: record[name] for name in names}


async def walk_kind(kind: Kind, walk: Walk) -> None:
    """Add a record over each interface, and read it over the other one, alone and in the list."""
    person = await walk.person()
    headers = person.acting if kind.of_user else walk.application
    body, other = kind.body(walk), kind.body(walk)
    with walk.purpose(kind.path, kind.added):
        ours = (await walk.rest("POST", kind.path, headers, json=body))[kind.key]
        shown = await walk.query(_query_of(kind), headers, **{kind.key: ours})
        assert members(shown, kind.shown(body)) == kind.shown(body)
    name, key = graphql_type_name(kind.name), graphql_path((kind.key,))[0]
    selected = f"{{ ... on {name} {{ {kind.key}: {key} }} ...Refused }}"
    mutation = f"mutation ($i: New{name}!) {{ create{name}(input: $i) {selected} }}"
    theirs = (await walk.graphql(mutation, headers, i=other))[kind.key]
    with walk.purpose(kind.one, kind.found):
        found = await walk.rest("GET", f"{kind.path}/{theirs}", headers)
        assert members(found, other) == other
    with walk.purpose(kind.path, kind.listed):
        listed = {record[kind.key]: record for record in await walk.rest("GET", kind.path, headers)}
        assert members(listed[theirs], other) == other
        assert members(listed[ours], body) == body
        if kind.connection:
            assert await _ids_of_graphql(walk, kind, headers) == set(listed)


def _query_of(kind: Kind) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.name).strip("_")


async def _ids_of_graphql(walk: Walk, kind: Kind, headers: Headers) -> set[str]:
    is_list = "first" not in kind.connection
    key = f"{kind.key}: {graphql_path((kind.key,))[0]}"
    inner = key if is_list else f"edges {{ node {{ {key} }} }}"
    root = await walk.graphql(f"{{ {kind.connection} {inner} }} }} }}", headers)
    (found,) = root.values()
    return {record[kind.key] for record in (found if is_list else nodes(found))}


async def walk_changes(walk: Walk) -> None:
    """Change records over REST, and read them over GraphQL."""
    app, ids = walk.application, walk.tenant.ids
    with walk.purpose("/content/{contentId}", "update a content object"):
        await walk.rest("PUT", f"/content/{ids['content']}", app, json={"description": "Changed"})
        assert await walk.node("Content", ids["content"], "description", app) == {"description": "Changed"}
    with walk.purpose("/languagecontent/{languageContentId}", "update a language content object"):
        path = f"/languagecontent/{ids['language_content']}"
        await walk.rest("PUT", path, app, json={"data": {"in": "changed"}})
        changed = await walk.node("LanguageContent", ids["language_content"], "data", app)
        assert changed == {"data": {"in": "changed"}}
    with walk.purpose("/alerttype/{alertTypeId}", "PUT"):
        await walk.rest("PUT", f"/alerttype/{ids['alert_type']}", app, json={"name": "Higher"})
        assert await walk.node("AlertType", ids["alert_type"], "name", app) == {"name": "Higher"}
    with walk.purpose("/vetype/{id}", "update a virtual entity type"):
        home_type = ids["virtual_entity_type"]
        await walk.rest("PUT", f"/vetype/{home_type}", app, json={"description": "Changed"})
        assert await walk.node("HomeType", home_type, "description", app) == {"description": "Changed"}


async def walk_terms_in_force(walk: Walk) -> None:
    """Publish newer terms over GraphQL. REST has them in force, for the application and for flexibility."""
    app = walk.application
    mutation = (
        "mutation ($i: NewTermsConditions!) { createTermsConditions(input: $i) {"
        " ... on TermsConditions { tcId } ...Refused } }"
    )
    added = {}
    for reference in ("app", "dfs"):
        terms = {"reference": reference, "version": "9", "validFrom": "2026-01-02T00:00:00Z"}
        added[reference] = (await walk.graphql(mutation, app, i=terms))["tcId"]
    with walk.purpose("/termsconditions/current", "terms and conditions in force"):
        current = await walk.rest("GET", "/termsconditions/current", app, params={"reference": "app"})
        assert [terms["tcId"] for terms in current] == [added["app"]]
    with walk.purpose("/dfs/termsconditions", "current DFS terms and conditions for an application"):
        current = await walk.rest("GET", "/dfs/termsconditions", app)
        assert [terms["tcId"] for terms in current] == [added["dfs"]]


async def walk_kinds(walk: Walk) -> None:
    for kind in KINDS:
        await walk_kind(kind, walk)


JOURNEYS = (walk_kinds, walk_changes, walk_terms_in_force)

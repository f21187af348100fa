"""The checks of the scanner graphql-cop 1.15, as requests to a gateway in production mode.

Each function has the name of its check in graphql-cop. The page docs/explanation/security-checks.md has the results.
"""

import re
from typing import Any

import pytest

from tests.support.house import House
from wattgate.graphql.execution.documents.documents import MAX_VALIDATION_ERRORS

ALLOWED_BY_DESIGN = {"get_method_support"}
"""Checks that the gateway answers differently on purpose. The page gives the reason."""


async def ask(served: House, document: str | list[str], operation_name: str | None = "cop") -> dict[str, Any]:
    """Return the body of the response to an anonymous POST request. A list is sent as a batch."""
    named = {} if operation_name is None else {"operationName": operation_name}
    body = [{"query": text} for text in document] if isinstance(document, list) else {"query": document, **named}
    answer: dict[str, Any] = (await served.http.post("/graphql", json=body)).json()
    return answer


def assert_rejected(answer: dict[str, Any], why: str) -> None:
    assert answer.get("data") is None
    assert why in answer["errors"][0]["message"]


async def test_field_suggestions(served: House) -> None:
    answer = await ask(served, "query cop { __schema { directive } }")
    assert "Did you mean" not in str(answer["errors"])


async def test_introspection(served: House) -> None:
    assert_rejected(await ask(served, "query cop { __schema { types { name fields { name } } } }"), "introspection")


@pytest.mark.parametrize("path", ["/", "/graphiql", "/playground", "/console", "/graphql"])
async def test_detect_graphiql(served: House, path: str) -> None:
    answer = await served.http.get(path, headers={"accept": "text/html"})
    assert answer.status_code == (200 if path in ("/", "/graphql") else 404)
    assert not re.search(r"graphiql|graphql[ -]playground", answer.text.replace(path, ""), re.IGNORECASE)


async def test_get_method_support(served: House) -> None:
    """GET executes queries, so that they can be cached. Cookies are ignored, so browsers send no credentials."""
    answer = await served.http.get("/graphql", params={"query": "query cop { __typename }"})
    assert answer.json()["data"] == {"__typename": "Query"}
    assert "set-cookie" not in answer.headers
    cookie = {"cookie": f"token={served.one.headers['account']['token']}"}
    private = await served.http.get(
        "/graphql", params={"query": "{ viewer { resources { edges { node { resourceId } } } } }"}, headers=cookie
    )
    assert private.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_alias_overloading(served: House) -> None:
    aliases = " ".join(f"alias{n}: __typename" for n in range(101))
    assert_rejected(await ask(served, f"query cop {{ {aliases} }}"), "aliases")


async def test_batch_query(served: House) -> None:
    assert_rejected(await ask(served, ["query cop { __typename }"] * 10), "batches")


async def test_trace_mode(served: House) -> None:
    answer = await ask(served, "query cop { __typename }")
    assert set(answer["extensions"]) == {"cost"}


async def test_directive_overloading(served: House) -> None:
    """The scanner takes one error for each directive as a sign that the work is not limited."""
    answer = await ask(served, f"query cop {{ __typename {'@aa' * 10} }}")
    errors = {error["message"]: len(error.get("locations", ())) for error in answer["errors"]}
    assert errors.pop("Unknown directive '@aa'.") == MAX_VALIDATION_ERRORS
    assert list(errors) == ["Too many validation errors, error limit reached. Validation aborted."]


async def test_circular_query_introspection(served: House) -> None:
    nested = "fields { type { " * 4 + "name" + " } }" * 4
    assert_rejected(await ask(served, f"query cop {{ __schema {{ types {{ {nested} }} }} }}"), "introspection")


async def test_get_based_mutation(served: House) -> None:
    answer = await served.http.get("/graphql", params={"query": "mutation cop { __typename }"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json().get("data") is None


async def test_post_based_csrf(served: House) -> None:
    answer = await served.http.post("/graphql", data={"query": "query cop { __typename }"})
    assert answer.status_code == 415
    assert_rejected(answer.json(), "application/json")


async def test_unhandled_error_detection(served: House) -> None:
    (error,) = (await ask(served, "qwerty cop { abc }"))["errors"]
    assert error["message"].startswith("Syntax Error")
    assert set(error["extensions"]) == {"code", "docUrl", "retryable", "traceId"}


async def test_field_duplication(served: House) -> None:
    assert_rejected(await ask(served, f"query cop {{ {'__typename ' * 500} }}"), "500 root fields")

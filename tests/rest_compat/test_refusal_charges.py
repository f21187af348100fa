"""REST requests that are refused before their operation runs: each costs as much as a refused root field of GraphQL."""

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from tests.graphql.test_request_costs import gateway
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT
from wattgate.requests.request_limits import size_cost

DAY = 86_400
READINGS = "/resource/RESOURCE/readings"
REFUSED = {
    "without the permission": ("GET", "/directory", {}, 403),
    "with a missing parameter": ("GET", READINGS, {}, 400),
    "with a large parameter": ("GET", READINGS, {"period": "x" * 28_000}, 400),
    "with a body that is not JSON": ("POST", "/virtualentity", {}, 400),
}


def remaining(answer: httpx.Response) -> int:
    return int(answer.headers["ratelimit"].split("r=")[1].split(";")[0])


async def test_refused_requests_are_charged_and_state_the_budget(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with gateway(tmp_path, caller_budget=100_000, caller_budget_seconds=DAY) as (_, http, tenant):
        headers: Mapping[str, str] = tenant.headers["account"]
        for name, (method, path, parameters, status) in REFUSED.items():
            with subtests.test(name):
                before = remaining(await http.get("/api/v0-1/virtualentity", headers=headers))
                answer = await http.request(
                    method,
                    "/api/v0-1" + path.replace("RESOURCE", tenant.ids["resource"]),
                    params=parameters,
                    headers={**headers, "content-type": "application/json"},
                    content=b"{" if method == "POST" else b"",
                )
                assert answer.status_code == status, answer.text
                size = size_cost(len(answer.request.url.query))
                assert before - remaining(answer) == STATEMENT_WEIGHT + size


async def test_refused_requests_exhaust_the_budget(tmp_path: Path) -> None:
    budget = 3 * STATEMENT_WEIGHT
    async with gateway(tmp_path, caller_budget=budget, caller_budget_seconds=DAY) as (_, http, tenant):
        answers = [await http.get("/api/v0-1/directory", headers=tenant.headers["account"]) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [403, 403, 403, 429, 429]
        assert all(answer.headers["retry-after"] for answer in answers[3:])

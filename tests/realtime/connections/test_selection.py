"""A compiled selection renders the same bytes as graphql-core."""

from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.support.live import Settled
from wattgate.enums import ReadingQuality
from wattgate.graphql.execution.documents.document_limits import DocumentLimits, limit_error, parse_document
from wattgate.graphql.transport.subscriptions import (
    PreparedSubscription,
    SubscriptionKey,
    SubscriptionService,
    build_selection,
)
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role
from wattgate.realtime.events import ReadingRecorded
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions.subscription import RequiresAsync

LIMITS = DocumentLimits()
FIELDS = ("resourceId", "field", "unit", "at", "value", "quality", "__typename")
CONDITIONS = ("true", "false", "$yes", "$no", "$unsaid")
VARIABLES = {"$yes": "$yes: Boolean!", "$no": "$no: Boolean!", "$unsaid": "$unsaid: Boolean! = true"}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
READINGS = st.builds(
    ReadingRecorded,
    resource_id=TEXTS,
    field=TEXTS,
    unit=TEXTS,
    at=st.datetimes(timezones=st.just(UTC)),
    value=st.floats(allow_nan=False, allow_infinity=False),
    quality=st.sampled_from(ReadingQuality),
)
READING = ReadingRecorded("resource", "POWER", "W", datetime(2026, 11, 1, tzinfo=UTC), 1.5, ReadingQuality.ACTUAL)


@dataclass
class DocumentWriter:
    """A generator of documents from choices that hypothesis draws."""

    draw: st.DrawFn
    fragments: dict[str, str] = field(default_factory=dict)

    def directives(self) -> str:
        chosen = self.draw(st.lists(st.sampled_from(["include", "skip"]), max_size=2, unique=True))
        return "".join(f" @{name}(if: {self.draw(st.sampled_from(CONDITIONS))})" for name in chosen)

    def selections(self, depth: int = 0) -> str:
        """Generate a selection set of a reading."""
        parts = [self.selection(depth) for _ in range(self.draw(st.integers(1, 3)))]
        return "{ " + " ".join(parts) + " }"

    def selection(self, depth: int) -> str:
        kind = self.draw(st.sampled_from(["field", "field", "inline", "spread"])) if depth < 2 else "field"
        if kind == "field":
            name = self.draw(st.sampled_from(FIELDS))
            alias = self.draw(st.sampled_from(["", f"{name}_a: ", f"{name}_b: "]))
            return f"{alias}{name}{self.directives()}"
        if kind == "inline":
            condition = self.draw(st.sampled_from(["", " on LiveReading"]))
            return f"...{condition}{self.directives()} {self.selections(depth + 1)}"
        return f"...{self.fragment(depth)}{self.directives()}"

    def fragment(self, depth: int) -> str:
        """Return the name of an existing or new fragment on readings."""
        same = [name for name, text in self.fragments.items() if " on LiveReading " in text]
        reused = bool(same) and self.draw(st.booleans())
        if reused:
            return self.draw(st.sampled_from(same))
        selections = self.selections(depth + 1)
        return self.define("LiveReading", selections)

    def define(self, on: str, selections: str) -> str:
        name = f"f{len(self.fragments)}"
        self.fragments[name] = f"fragment {name} on {on} {selections}"
        return name

    def document(self) -> str:
        alias = self.draw(st.sampled_from(["", "latest: "]))
        root = f'{alias}readings(resourceIds: ["a"]) {self.selections()}'
        if self.draw(st.booleans()):  # the same field twice: GraphQL merges their selections
            root += f' {alias}readings(resourceIds: ["a"]) {self.selections()}'
        match self.draw(st.sampled_from(["plain", "inline", "spread"])):
            case "inline":
                root = f"... on Subscription {{ {root} }}"
            case "spread":
                root = f"...{self.define('Subscription', f'{{ {root} }}')}"
        body = "\n".join([f"{{ {root} }}", *self.fragments.values()])
        declared = ", ".join(text for name, text in VARIABLES.items() if name in body)
        return f"subscription {f'({declared}) ' if declared else ''}{body}"


@st.composite
def document_texts(draw: st.DrawFn) -> str:
    return DocumentWriter(draw).document()


def is_accepted(document: str) -> bool:
    """Return whether a document is within the gateway's limits, such as 50 directives."""
    return limit_error(parse_document(document, LIMITS), LIMITS) is None


def documents() -> st.SearchStrategy[str]:
    """Return documents that the gateway accepts. A few generated documents exceed a limit."""
    return document_texts().filter(is_accepted)


def run_without_waiting(coroutine: Coroutine[Any, Any, bytes]) -> bytes:
    """Return the result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return bytes(stop.value)
    raise AssertionError("the coroutine suspends")


@pytest.fixture(scope="module")
def service(settled: Settled) -> SubscriptionService:
    return settled.one.gateway.subscription_service


def subscription_key(service: SubscriptionService, document: str, variables: dict[str, Any]) -> SubscriptionKey:
    request = OperationRequest(document)
    return SubscriptionKey.create(request, service.pipeline.document_for(request), variables)


def prepare(service: SubscriptionService, document: str) -> tuple[PreparedSubscription, Any]:
    """Return a prepared subscription, and its execution by graphql-core."""
    key = subscription_key(service, document, {"yes": True, "no": False})
    subscription = service.prepare_cached(key)
    context = GraphQLContext(cast(Runner, None), Principal(Role.SYSTEM))  # the selections load no edges
    return subscription, build_selection(
        subscription.key, None, None, lambda: service.build_executor(key), lambda: context
    ).execute_async


@settings(suppress_health_check=list(HealthCheck))
@given(document=documents(), payloads=st.lists(READINGS, min_size=1, max_size=3))
def test_compiled_selection_renders_the_same_bytes_as_graphql_core(
    service: SubscriptionService, document: str, payloads: list[ReadingRecorded]
) -> None:
    subscription, execute_async = prepare(service, document)
    assert subscription.execute_sync is not None, document
    for payload in payloads:
        assert subscription.execute_sync(payload) == run_without_waiting(execute_async(payload)), document


INVALID_VALUES = [
    None,
    5,
    2**40,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "text",
    True,
    [],
    {},
    b"x",
    object(),
    ReadingQuality.ACTUAL,
]


def test_invalid_payload_renders_the_same_or_is_left_to_graphql_core(
    service: SubscriptionService, subtests: pytest.Subtests
) -> None:
    subscription, execute_async = prepare(
        service, f'subscription {{ readings(resourceIds: ["a"]) {{ {" ".join(FIELDS)} }} }}'
    )
    assert subscription.execute_sync is not None
    for name, value in product(READING.__struct_fields__, INVALID_VALUES):
        with subtests.test(f"{name}: {type(value).__name__} {value}"):
            invalid = structs.replace(READING, **{name: value})
            with suppress(RequiresAsync):
                result = subscription.execute_sync(invalid)
                assert result == run_without_waiting(execute_async(invalid))


@pytest.mark.parametrize(("selection", "is_compiled"), [("alertId data", True), ("alertId alertType { name }", False)])
def test_selection_with_an_edge_is_left_to_graphql_core(
    service: SubscriptionService, selection: str, is_compiled: bool
) -> None:
    subscription = service.prepare_cached(
        subscription_key(service, f"subscription {{ alerts(since: null) {{ {selection} }} }}", {})
    )
    assert (subscription.execute_sync is not None) is is_compiled

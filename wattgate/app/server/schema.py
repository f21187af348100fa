"""The GraphQL schema that a gateway serves, and its routes as SDL."""

from collections.abc import Iterator
from functools import lru_cache, partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wattgate.app.server.pages.pages import ConstantAnswer
from wattgate.app.settings import Settings
from wattgate.enums import Audience
from wattgate.graphql.execution.audience_schemas import audience_sdl
from wattgate.graphql.execution.schema import Schema, build_schema
from wattgate.operations.catalogue import OPERATIONS
from wattgate.requests.fair_share import run_in_thread


def gateway_schema(settings: Settings) -> Schema:
    """Return the schema that a gateway with these settings serves. Production hides introspection."""
    return build_schema(OPERATIONS, hides_introspection=settings.environment == "production")


def schema_routes(schema: Schema) -> Iterator[Route]:
    """Yield the routes of the GraphQL schema as SDL: the whole one, and what each audience may use.

    A gateway that hides introspection has none of them.
    """
    if schema.hides_introspection:
        return
    for audience in (None, *Audience):

        async def serve(request: Request, audience: Audience | None = audience) -> Response:
            answer = await run_in_thread(partial(_schema_answer, schema, audience))
            return await answer(request)

        yield Route(f"/schema.{audience.value}.graphql" if audience else "/schema.graphql", serve)


@lru_cache(maxsize=16)
def _schema_answer(schema: Schema, audience: Audience | None) -> ConstantAnswer:
    """Return a schema as a file. To make it takes some tenths of a second, so the first request makes it."""
    text = audience_sdl(schema, audience) if audience else schema.as_str() + "\n"
    return ConstantAnswer(text.encode(), "application/graphql; charset=utf-8")

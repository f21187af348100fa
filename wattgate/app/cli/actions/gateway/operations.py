"""Print the operations and the schema."""

from rich.table import Table

from wattgate.app.cli.consoles import out
from wattgate.enums import Audience
from wattgate.graphql.execution.audience_schemas import audience_sdl
from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.catalogue import OPERATIONS


def print_routes() -> None:
    """Print every operation: REST method and path, GraphQL field, required permission and scheme."""
    table = Table("REST", "GraphQL", "Permission", "Scheme", box=None)
    for operation in OPERATIONS:
        field = f"{operation.kind.value.lower()} {operation.field_path}"
        for rest in operation.rest or (None,):
            endpoint = f"{rest.method} {rest.path}" if rest else "-"
            scheme = rest.accepted_scheme.value if rest and rest.accepted_scheme else "any"
            table.add_row(endpoint, field, operation.needs.name.lower(), scheme)
    out.print(table)


def print_schema(*, audience: Audience | None) -> None:
    """Print the GraphQL schema as SDL: the whole one, or what an audience may use."""
    schema = build_schema(OPERATIONS)
    text = schema.as_str() + "\n" if audience is None else audience_sdl(schema, audience)
    print(text, end="")  # noqa: T201 (plain text, for a file or a pipe)

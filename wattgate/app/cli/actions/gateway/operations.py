"""Print the operations and the schema."""

from rich.table import Table

from wattgate.app.cli.consoles import out
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


def print_schema() -> None:
    """Print the GraphQL schema as SDL."""
    print(build_schema(OPERATIONS).as_str())  # noqa: T201 (plain text, for a file or a pipe)

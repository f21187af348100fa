"""Declarations of uniform records, each expanded to its list, get, add and update operations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any
from uuid import UUID

import strawberry
from strawberry.types import get_object_definition

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.input_limits import apply_input, check_references, to_column_values
from wattgate.operations.core.operation import (
    BY_NODE,
    Argument,
    Audit,
    Call,
    Operation,
    OperationKind,
    RestRoute,
    with_caller_note,
)
from wattgate.operations.vocabulary.cost_weights import DEFAULT_LIST_SIZE, ListSize
from wattgate.operations.vocabulary.directives import declared_description
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission
from wattgate.values.annotations import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Records that can be listed, read, added and changed without further rules. GraphQL reads one of them by `node`.

    `noun` includes its article and is used in descriptions. `has_list`, `add_input` and `update_input` select the
    operations. `filters` are columns that can narrow the list, with the annotations of their arguments. `schemes` gives
    the REST authentication scheme of each operation for which SPEC.md names one, by HTTP method ("GET" is the list,
    "GET one" a single record). `acknowledged_fields` and `write_status` define the REST response to writes; see
    `RestRoute`. `list_size` is the assumed length of the list. An entity that needs more than this has hand-written
    resolvers instead.
    """

    name: str
    plural: str
    noun: str
    path: str
    tag: Tag
    model: type[Tenanted]
    graphql_type: type
    read_permission: Permission
    write_permission: Permission
    has_list: bool = True
    add_input: type | None = None
    update_input: type | None = None
    filters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    order_by: str = "created_at"
    schemes: tuple[tuple[str, AuthScheme], ...] = ()
    acknowledged_fields: tuple[str, ...] = ()
    write_status: int = 200
    list_size: int = DEFAULT_LIST_SIZE
    plural_noun: str = ""
    """Plural of `noun`, if it is not `plural` with spaces."""
    list_in_graphql: tuple[str, ...] = ()
    """The path of the GraphQL fields that lead to the records, if only REST has the list: see `Operation`."""
    refuses_malformed_ids: bool = False
    """Whether an ID that is no UUID is BAD_INPUT. Otherwise it is NOT_FOUND, like an unknown ID."""


def build_operations(entity: Entity) -> Iterator[Operation]:
    """Yield the one to four operations of an entity, of the same type as those of hand-written resolvers."""
    yield from _build_reads(entity)
    yield from _build_writes(entity)


def _build_reads(entity: Entity) -> Iterator[Operation]:
    if entity.has_list:
        plural_noun = entity.plural_noun or entity.plural.replace("_", " ")
        yield Operation(
            entity.plural,
            OperationKind.QUERY,
            _build_list_resolver(entity),
            returns=list[entity.graphql_type],  # type: ignore[name-defined]
            needs=entity.read_permission,
            description=with_caller_note(f"List the {plural_noun} that the caller may see.", entity.read_permission),
            arguments={name: Argument(annotation | None, None) for name, annotation in entity.filters.items()},
            rest=(RestRoute("GET", entity.path, entity.tag, scheme=dict(entity.schemes).get("GET")),),
            sizes=(ListSize(entity.list_size),),
            in_graphql=entity.list_in_graphql,
        )
    yield Operation(
        entity.name,
        OperationKind.QUERY,
        _build_get_resolver(entity),
        returns=entity.graphql_type,
        needs=entity.read_permission,
        description=with_caller_note(f"Return {entity.noun} by its ID.", entity.read_permission),
        arguments={entity.model.key: _key_argument(entity)},
        rest=(RestRoute("GET", _record_path(entity), entity.tag, scheme=dict(entity.schemes).get("GET one")),),
        in_graphql=BY_NODE,
    )


def _build_writes(entity: Entity) -> Iterator[Operation]:
    audit = Audit.CALLS_FOR_OTHERS if entity.model.owner else Audit.EVERY_CALL
    if entity.add_input:
        beneficiary = "for the acting user" if entity.model.owner else "to the application"
        yield Operation(
            f"add_{entity.name}",
            OperationKind.MUTATION,
            _build_add_resolver(entity),
            returns=entity.graphql_type,
            needs=entity.write_permission,
            description=with_caller_note(f"Add {entity.noun} {beneficiary}.", entity.write_permission),
            audit=audit,
            arguments={"input": Argument(entity.add_input)},
            rest=(_write_route("POST", entity.path, entity),),
        )
    if entity.update_input:
        yield Operation(
            f"update_{entity.name}",
            OperationKind.MUTATION,
            _build_update_resolver(entity),
            returns=entity.graphql_type,
            needs=entity.write_permission,
            description=with_caller_note(
                f"Change {entity.noun}. Omitted fields keep their values.", entity.write_permission
            ),
            audit=audit,
            raises=(Conflict,),
            arguments={entity.model.key: _key_argument(entity), "input": Argument(entity.update_input)},
            rest=(_write_route("PUT", _record_path(entity), entity),),
        )


def _key_argument(entity: Entity) -> Argument:
    """Return the argument for the ID of a record, with the description of the field for the same ID."""
    fields = get_object_definition(entity.graphql_type, strict=True).fields
    (key,) = (field for field in fields if field.python_name == entity.model.key)
    return Argument(Annotated[strawberry.ID, Described(declared_description(key) or "")])


def _record_path(entity: Entity) -> str:
    return f"{entity.path}/{{{to_camel_case(entity.model.key)}}}"


def _write_route(method: str, path: str, entity: Entity) -> RestRoute:
    scheme = dict(entity.schemes).get(method)
    return RestRoute(
        method,
        path,
        entity.tag,
        entity.write_status,
        scheme=scheme,
        acknowledged_fields=entity.acknowledged_fields,
    )


def _build_list_resolver(entity: Entity) -> Any:
    columns = model_columns(entity.model)

    async def resolve(call: Call, **filters: str | None) -> list[Tenanted]:
        where = [columns[name] == value for name, value in filters.items() if value is not None]
        return await call.rows.all(entity.model, *where, order_by=[columns[entity.order_by]])

    return resolve


def _build_get_resolver(entity: Entity) -> Any:
    async def resolve(call: Call, **key: str) -> Tenanted:
        record_id = key[entity.model.key]
        if entity.refuses_malformed_ids and not _is_uuid(record_id):
            name = to_camel_case(entity.model.key)
            raise BadInput(
                f"{name} is {record_id!r}, which is no UUID. Use an ID from the list.",
                problems=[Problem((name,), "is no UUID")],
            )
        return await call.rows.get(entity.model, record_id)

    return resolve


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _build_add_resolver(entity: Entity) -> Any:
    owner = entity.model.owner

    async def resolve(call: Call, *, input: Any) -> Tenanted:
        values = to_column_values(input, entity.model)
        await check_references(call, entity.model, values)
        if owner:
            values[owner] = require_user_id(call)
        return await call.rows.add(entity.model(**values))

    return resolve


def _build_update_resolver(entity: Entity) -> Any:
    async def resolve(call: Call, *, input: Any, **key: str) -> Tenanted:
        record = await call.rows.edit(entity.model, key[entity.model.key])
        await check_references(call, entity.model, to_column_values(input, entity.model))
        return apply_input(record, input)

    return resolve

"""A uniform kind of record, declared once and expanded to its operations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import strawberry

from wattgate.db.models import Tenanted
from wattgate.db.rows import columns_of
from wattgate.enums import camel
from wattgate.graphql.core.cost_weights import ASSUMED_SIZE, Size
from wattgate.graphql.core.inputs import change, check_references, values_of
from wattgate.graphql.core.operation import Argument, Call, Kind, Operation, Rest
from wattgate.graphql.core.owner import owner_of
from wattgate.principal import Permission, Scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Records that are listed, found, added and changed without further rules.

    `called` is the noun with its article, for descriptions. `lists`, `add` and `update` (the input types) say which
    operations there are. `filters` are columns by which a list can be narrowed down. `schemes` gives the REST scheme
    of an operation that SPEC.md names one for, by HTTP method ("GET" is the list, "GET one" a single record).
    `acknowledges` and `written` (the status) say how REST answers writes; see `Rest`. `size` is how long its list is
    assumed to be. An entity that needs more than this has written resolvers instead.
    """

    name: str
    plural: str
    called: str
    path: str
    row: type[Tenanted]
    shape: type
    read: Permission
    write: Permission
    lists: bool = True
    add: type | None = None
    update: type | None = None
    filters: tuple[str, ...] = ()
    order_by: str = "created_at"
    schemes: tuple[tuple[str, Scheme], ...] = ()
    acknowledges: tuple[str, ...] = ()
    written: int = 200
    size: int = ASSUMED_SIZE


def operations_of(entity: Entity) -> Iterator[Operation]:
    """The two to four operations of an entity, as the same values that written resolvers make."""
    one = f"{entity.path}/{{{camel(entity.row.key)}}}"
    key = {entity.row.key: Argument(strawberry.ID)}

    if entity.lists:
        yield Operation(
            entity.plural,
            Kind.QUERY,
            _lister(entity),
            returns=list[entity.shape],  # type: ignore[name-defined]
            needs=entity.read,
            description=f"The {entity.plural.removeprefix('all_').replace('_', ' ')} of the application.",
            takes={name: Argument(str | None, None) for name in entity.filters},
            rest=(Rest("GET", entity.path, scheme=dict(entity.schemes).get("GET")),),
            sizes=(Size(entity.size),),
        )
    yield Operation(
        entity.name,
        Kind.QUERY,
        _finder(entity),
        returns=entity.shape,
        needs=entity.read,
        description=f"{entity.called.capitalize()}, by its id.",
        takes=key,
        rest=(Rest("GET", one, scheme=dict(entity.schemes).get("GET one")),),
    )
    if entity.add:
        yield Operation(
            f"add_{entity.name}",
            Kind.MUTATION,
            _adder(entity),
            returns=entity.shape,
            needs=entity.write,
            description=f"Add {entity.called} to the application.",
            takes={"input": Argument(entity.add)},
            rest=(_write("POST", entity.path, entity),),
        )
    if entity.update:
        yield Operation(
            f"update_{entity.name}",
            Kind.MUTATION,
            _changer(entity),
            returns=entity.shape,
            needs=entity.write,
            description=f"Change {entity.called}; what is left out stays as it is.",
            takes={**key, "input": Argument(entity.update)},
            rest=(_write("PUT", one, entity),),
        )


def _write(method: str, path: str, entity: Entity) -> Rest:
    scheme = dict(entity.schemes).get(method)
    return Rest(method, path, entity.written, scheme=scheme, acknowledges=entity.acknowledges)


def _lister(entity: Entity) -> Any:
    columns = columns_of(entity.row)

    async def resolve(call: Call, **filters: str | None) -> list[Tenanted]:
        where = [columns[name] == value for name, value in filters.items() if value is not None]
        return await call.rows.all(entity.row, *where, order_by=[columns[entity.order_by]])

    return resolve


def _finder(entity: Entity) -> Any:
    async def resolve(call: Call, **key: str) -> Tenanted:
        return await call.rows.get(entity.row, key[entity.row.key])

    return resolve


def _adder(entity: Entity) -> Any:
    owner = entity.row.owner

    async def resolve(call: Call, *, input: Any) -> Tenanted:
        values = values_of(input, entity.row)
        await check_references(call, entity.row, values)
        if owner:
            values[owner] = owner_of(call)
        return await call.rows.add(entity.row(**values))

    return resolve


def _changer(entity: Entity) -> Any:
    async def resolve(call: Call, *, input: Any, **key: str) -> Tenanted:
        record = await call.rows.edit(entity.row, key[entity.row.key])
        await check_references(call, entity.row, values_of(input, entity.row))
        return change(record, input)

    return resolve

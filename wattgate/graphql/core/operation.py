"""An operation of the gateway, declared once for GraphQL and REST."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from wattgate.db.meter_network import MeterNetwork
from wattgate.db.rows import Rows
from wattgate.delivery.outbound_policy import ALONE, Outside
from wattgate.graphql.core.cost_weights import MUTATION, STATEMENTS, Amount, Size
from wattgate.principal import Permission, Principal, Scheme
from wattgate.realtime.events import Event


class Kind(Enum):
    """Which GraphQL root an operation stands on. Mutations commit; subscriptions answer what to follow."""

    QUERY = "Query"
    MUTATION = "Mutation"
    SUBSCRIPTION = "Subscription"


JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Rest:
    """A place of an operation in the REST interface.

    `scheme` is the only one accepted where SPEC.md names one; None accepts either. `edges` are the edges of the
    result (GraphQL names) that its REST form includes. `acknowledges` names the members of the result that are
    told beside `{"status": "OK"}`, where legacy clients get an acknowledgement and not the record. `media` is the
    type of the answer; a path with several is served by the one that the request's Accept names, or else JSON.
    """

    method: str
    path: str
    status: int = 200
    scheme: Scheme | None = None
    edges: tuple[str, ...] = ()
    acknowledges: tuple[str, ...] = ()
    media: str = JSON

    @property
    def place(self) -> str:
        """The place as tables name it: method and path, and the media type where it is not JSON."""
        return f"{self.method} {self.path}" + ("" if self.media == JSON else f" {self.media}")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation: its annotation as Strawberry reads it, and its default if it has one."""

    annotation: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Call:
    """What a resolver gets of the world: who calls, the rows they may see (and when), a place for events,
    the meter network, and how the gateway stands to the world outside.
    """

    principal: Principal
    rows: Rows
    emit: Callable[[Event], None]
    network: MeterNetwork
    outside: Outside = ALONE


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One thing the gateway can do. `name` is in snake_case; GraphQL shows it in camelCase.

    `resolver` is an async function of a `Call` and keyword arguments that returns rows, or, for a subscription,
    a `Watch`. `needs` has no default on purpose: public operations say Permission.ANYONE. A subscription that
    `resumes` takes `since`, and its field is null where it tells no more than where the client stands. `weight` is
    what a call costs, where it is not what its kind costs; `sizes` say how long lists are.
    """

    name: str
    kind: Kind
    resolver: Callable[..., Any]
    returns: Any
    needs: Permission
    description: str
    takes: Mapping[str, Argument] = field(default_factory=lambda: MappingProxyType({}))
    rest: tuple[Rest, ...] = ()
    resumes: bool = False
    weight: Amount | None = None
    sizes: tuple[Size, ...] = ()

    @property
    def costs(self) -> Amount:
        """What a call costs, without what is told of its result."""
        if self.weight is not None:
            return self.weight
        return MUTATION if self.kind is Kind.MUTATION else STATEMENTS

    @property
    def many(self) -> bool:
        """Whether the result is a list."""
        return get_origin(self.returns) is list

    @property
    def shape(self) -> Any:
        """The type of the result, or of its items where it is a list."""
        return get_args(self.returns)[0] if self.many else self.returns


def operation(
    kind: Kind,
    *,
    returns: Any,
    needs: Permission,
    rest: Rest | tuple[Rest, ...] = (),
    resumes: bool = False,
    weight: Amount | None = None,
    sizes: Sequence[Size] = (),
) -> Callable[[Callable[..., Any]], Operation]:
    """Make an Operation of a resolver: its name, docstring and keyword arguments become the operation's.

    It registers nothing; `catalogue.OPERATIONS` lists what there is.
    """

    def declare(resolver: Callable[..., Any]) -> Operation:
        return Operation(
            name=resolver.__name__,
            kind=kind,
            resolver=resolver,
            returns=returns,
            needs=needs,
            description=inspect.cleandoc(resolver.__doc__ or ""),
            takes=_arguments_of(resolver),
            rest=rest if isinstance(rest, tuple) else (rest,),
            resumes=resumes,
            weight=weight,
            sizes=tuple(sizes),
        )

    return declare


def _arguments_of(resolver: Callable[..., Any]) -> Mapping[str, Argument]:
    hints = get_type_hints(resolver, include_extras=True)
    return MappingProxyType(
        {
            name: Argument(hints[name], parameter.default)
            for name, parameter in inspect.signature(resolver).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }
    )

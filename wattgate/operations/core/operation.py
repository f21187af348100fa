"""Operations of the gateway, each declared once for GraphQL and REST."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType, ModuleType
from typing import Any, NotRequired, TypedDict, Unpack, get_args, get_origin, get_type_hints

import msgspec

from wattgate.clock import Clock
from wattgate.db.meter_network import MeterNetwork
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.policies import DEFAULT_ACCOUNT_POLICY, AccountPolicy
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.openid.client import OpenIdClient
from wattgate.delivery.outbound_policy import DEFAULT_OUTBOUND_POLICY, OutboundPolicy
from wattgate.errors import GatewayError
from wattgate.operations.core.outside_work import OutsideTemplates, OutsideWork
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT, STATEMENT_WEIGHT, Amount, ListSize, ResultUnits
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import GRANTS, OAUTH_SCOPES, AuthScheme, Permission, Principal, Role
from wattgate.realtime.events import Event
from wattgate.requests.client import UNLIMITED_ADDRESSES, AddressLimiter, AddressPolicy, Client
from wattgate.requests.request_context import WorkCharge
from wattgate.values.graphql_names import graphql_operation_name


class OperationKind(Enum):
    """The GraphQL root type of an operation.

    Mutations commit; resolvers of subscriptions return a subscription source.
    """

    QUERY = "Query"
    MUTATION = "Mutation"
    SUBSCRIPTION = "Subscription"


class Audit(Enum):
    """Which calls of a mutation leave an entry in the audit log."""

    EVERY_CALL = "every call"
    CALLS_FOR_OTHERS = "calls of all callers but users, who have the operation for their own records"


@dataclass(frozen=True, slots=True)
class Unaudited:
    """The declaration of a mutation whose calls leave no entry in the audit log, with the reason."""

    reason: str


OWN_ACCOUNT_ONLY = Unaudited("A caller logs in or registers, and acts on its own account only.")
MEASURED_DATA = Unaudited("It carries measured data, not a decision of an administrator.")
WORK_OF_A_WORKER = Unaudited("A worker carries out what another operation or a setting has decided.")

JSON = "application/json"

BY_NODE = ("node",)
"""The `in_graphql` of an operation that returns one record by its ID, which GraphQL asks for with `node` alone."""


@dataclass(frozen=True, slots=True)
class RestRoute:
    """A route of an operation in the REST interface.

    `tag` is the area of the interface, which the OpenAPI document names. `scheme` is the authentication scheme that
    SPEC.md names, or None. Only this scheme is accepted, unless `accepts_any_scheme` is set because existing clients
    also use the other one. `edges` are the edges (GraphQL names) that the REST form of the result includes.
    `acknowledged_fields` are the members of the result that are returned beside `{"status": "OK"}`, for routes where
    legacy clients get an acknowledgement instead of the record. `media_type` is the type of the response; if a path has
    several, the request's Accept header selects one, and JSON is the default. `summary` describes a route that returns
    a part of the result; for all others it is empty.
    """

    method: str
    path: str
    tag: Tag
    status: int = 200
    scheme: AuthScheme | None = None
    accepts_any_scheme: bool = False
    edges: tuple[str, ...] = ()
    acknowledged_fields: tuple[str, ...] = ()
    media_type: str = JSON
    summary: str = ""

    @property
    def accepted_scheme(self) -> AuthScheme | None:
        """The only authentication scheme that the route accepts. None means that it accepts every scheme."""
        return None if self.accepts_any_scheme else self.scheme

    @property
    def route_key(self) -> str:
        """The route as tables name it: method and path, and the media type if it is not JSON."""
        return f"{self.method} {self.path}" + ("" if self.media_type == JSON else f" {self.media_type}")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation: its annotation as Strawberry reads it, and its default if it has one."""

    annotation: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


class Call(msgspec.Struct, frozen=True):
    """The environment of a resolver.

    It contains the caller, the rows that the caller may see (with the current time), a function that queues events, the
    meter network, the renderer of templates, the policies for outbound connections and for log-ins, the client, the
    limits of client addresses, and the result of the operation's `prepare`. `selected` has the names of all fields that
    are selected from the result, at any depth; None if they are unknown. `outside` has the results of work that runs
    while no session is open: a resolver that asks for a result that is missing runs again, from its beginning.
    """

    principal: Principal
    rows: Rows
    emit: Callable[[Event], None]
    network: MeterNetwork
    templates: OutsideTemplates
    outside: OutsideWork
    outbound_policy: OutboundPolicy = DEFAULT_OUTBOUND_POLICY
    account_policy: AccountPolicy = DEFAULT_ACCOUNT_POLICY
    client: Client = msgspec.field(default_factory=Client)
    address_limits: AddressLimiter = UNLIMITED_ADDRESSES
    prepared: Any = None
    selected: frozenset[str] | None = None

    def charge_address(self, policy: AddressPolicy) -> None:
        """Charge an attempt to the client's address, once for the operation. Raise RateLimited if none is left.

        The balances of addresses may be in Redis, so this is outside work: see `OutsideWork.result`.
        """
        self.outside.result(("charge", policy), lambda: self.address_limits.charge(policy, self.client))

    def refund_address(self, policy: AddressPolicy) -> None:
        """Return the charge of an attempt that succeeded, when the session has ended."""
        self.outside.do_afterwards(lambda: self.address_limits.refund(policy, self.client))


@dataclass(frozen=True, slots=True)
class Preparation:
    """The environment of a function that runs before the session of its operation opens.

    It may wait for other systems, which an operation must not do while it holds a transaction. `read` returns the
    result of a function over the rows that the operation may see.
    """

    principal: Principal
    read: Callable[[Callable[[Rows], Awaitable[Any]]], Awaitable[Any]]
    openid: OpenIdClient
    now: datetime
    client: Client
    address_limits: AddressLimiter


Prepare = Callable[..., Awaitable[Any]]
"""A function of a `Preparation` and the arguments of the operation. Its result is `Call.prepared`."""


RunOperation = Callable[["Operation", Mapping[str, Any]], Awaitable[Any]]
"""Runs an operation for the caller: (operation, arguments) -> its result."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """The environment of a resolver that delegates: it runs other operations for the caller, and charges measured work.

    `charge` is that of the call; None if nobody pays.
    """

    run: RunOperation
    charge: WorkCharge | None
    clock: Clock

    async def __call__(self, operation: "Operation", arguments: Mapping[str, Any]) -> Any:
        """Return the result of an operation. The cost of the call includes it."""
        return await self.run(operation, arguments)

    async def charged(self, operation: "Operation", arguments: Mapping[str, Any]) -> Any:
        """Return the result of an operation that the cost of the call does not include. Charge it first."""
        if self.charge is not None:
            cost = operation.base_cost
            if not isinstance(cost, int):
                cost = cost.compute(self.clock(), *[arguments.get(name) for name in cost.slicing_arguments])
            await self.charge.add_units(cost)
        return await self.run(operation, arguments)

    async def pay(self, units: int) -> None:
        """Charge units of work that is done. Raise RateLimited or CostTooHigh if the caller may use no more."""
        if self.charge is not None:
            await self.charge.add_done(units)
            await self.charge.check_work()


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One query, mutation or subscription of the gateway. `name` is in snake_case; GraphQL shows it in camelCase.

    `resolver` is an async function of a `Call` and keyword arguments. It returns rows or, for a subscription, a
    `SubscriptionSource`. `needs` has no default on purpose: public operations declare Permission.ANYONE. A subscription
    with `resumes` accepts `since`, and its field is null in payloads that only report the client's position. `weight`
    is the cost of a call, by default that of its kind. `sizes` declares list lengths, and `result_units` the additional
    cost of a result. Each call is charged to the client's address if `address_policy` is set. `system_access` is the
    reason for which the operation may touch the rows of all applications. The system cannot run it without an
    application unless it declares one. `prepare` runs before the session opens. The resolver of an operation that
    `delegates` gets a `Delegation` instead of a `Call`: it only runs other operations, with their permissions.
    An operation with `in_graphql` has no GraphQL field: this is the path of the fields that lead to the same records,
    without the members of connections. After `node`, it has the name of the type. With BY_NODE, `node` and `nodes` run
    it for the records of its type. An operation that `renews_token` also accepts a token that has expired within
    TOKEN_GRACE, on an open connection. `rest_names` has the names of arguments in REST where they are not those of
    GraphQL. An `internal` operation has no field and no route: the command line, the workers, the intake and the demo
    run it. One that needs Permission.SYSTEM always is internal. `raises` has the errors that its permission, its routes
    and its arguments do not imply: the OpenAPI document lists them. `application_argument` names an application, or
    an OAuth client of one, whose budget pays for callers without credentials.
    """

    name: str
    kind: OperationKind
    resolver: Callable[..., Any]
    returns: Any
    needs: Permission
    description: str
    audit: Audit | Unaudited | None = None
    arguments: Mapping[str, Argument] = field(default_factory=lambda: MappingProxyType({}))
    rest: tuple[RestRoute, ...] = ()
    resumes: bool = False
    weight: Amount | None = None
    sizes: tuple[ListSize, ...] = ()
    result_units: ResultUnits | None = None
    address_policy: AddressPolicy | None = None
    system_access: SystemAccess | None = None
    prepare: Prepare | None = None
    delegates: bool = False
    in_graphql: tuple[str, ...] = ()
    renews_token: bool = False
    rest_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    internal: bool = False
    raises: tuple[type[GatewayError], ...] = ()
    application_argument: str = "application_id"
    list_type: Any = None
    rest_result: Any = None

    @property
    def naming_argument(self) -> str | None:
        """The argument with which callers without credentials name an application; None if there is none."""
        is_named = self.needs is Permission.ANYONE and self.application_argument in self.arguments
        return self.application_argument if is_named else None

    @property
    def is_read(self) -> bool:
        """Whether the operation only reads: a query or a subscription."""
        return self.kind is not OperationKind.MUTATION

    @property
    def has_field(self) -> bool:
        """Whether the operation has a root field in the GraphQL schema."""
        return not self.internal and not self.in_graphql

    @property
    def is_read_by_node(self) -> bool:
        """Whether GraphQL has no field for the operation but `node`, which runs it with the key of a global id."""
        return self.in_graphql == BY_NODE

    @property
    def field_path(self) -> str:
        """The GraphQL field of the operation, or the path of the fields that lead to the same records."""
        return ".".join(self.in_graphql) or self.graphql_name

    @property
    def graphql_name(self) -> str:
        """The name of the operation for its callers, which is that of its root field."""
        return graphql_operation_name(self.name)

    @property
    def base_cost(self) -> Amount:
        """The cost of a call, without the cost of its result."""
        if self.weight is not None:
            return self.weight
        return MUTATION_WEIGHT if self.kind is OperationKind.MUTATION else STATEMENT_WEIGHT

    @property
    def returns_list(self) -> bool:
        """Whether the result is a list."""
        return get_origin(self.returns) is list

    @property
    def result_type(self) -> Any:
        """The type of the result, or of its items if the result is a list."""
        return get_args(self.returns)[0] if self.returns_list else self.returns

    @property
    def rest_returns_list(self) -> bool:
        """Whether the result is a list in REST."""
        return self.returns_list if self.rest_result is None else isinstance(self.rest_result, list)

    @property
    def rest_result_type(self) -> Any:
        """The type of the result in REST, or of its items if it is a list there."""
        if self.rest_result is None:
            return self.result_type
        return type(self.rest_result[0] if self.rest_returns_list else self.rest_result)


class OperationFacts(TypedDict, total=False):
    """The facts that a declaration states only if they are not those of most operations: fields of `Operation`."""

    resumes: bool
    weight: Amount | None
    result_units: ResultUnits | None
    address_policy: AddressPolicy | None
    system_access: SystemAccess | None
    prepare: Prepare | None
    delegates: bool
    in_graphql: tuple[str, ...]
    renews_token: bool
    rest_names: Mapping[str, str]
    internal: bool
    raises: tuple[type[GatewayError], ...]
    application_argument: str
    list_type: Any
    rest_result: Any


def operation(
    kind: OperationKind,
    *,
    returns: Any,
    needs: Permission,
    audit: Audit | Unaudited | None = None,
    rest: RestRoute | tuple[RestRoute, ...] = (),
    sizes: Sequence[ListSize] = (),
    **facts: Unpack[OperationFacts],
) -> Callable[[Callable[..., Any]], Operation]:
    """Turn a resolver into an Operation with the resolver's name, docstring and keyword arguments.

    It registers nothing: the catalogue reads the operations of each module. A mutation declares `audit`, unless it is
    for the system alone: then its default is WORK_OF_A_WORKER. Raise TypeError otherwise.
    """
    if needs is Permission.SYSTEM:
        facts["internal"] = True

    def declare(resolver: Callable[..., Any]) -> Operation:
        return Operation(
            name=resolver.__name__,
            kind=kind,
            resolver=resolver,
            returns=returns,
            needs=needs,
            description=with_caller_note(inspect.cleandoc(resolver.__doc__ or ""), needs),
            audit=_audit_of(resolver.__name__, kind, needs, audit),
            arguments=_arguments_of(resolver),
            rest=rest if isinstance(rest, tuple) else (rest,),
            sizes=tuple(sizes),
            **facts,
        )

    return declare


def declared_operations(module: ModuleType) -> tuple[Operation, ...]:
    """Return the operations that a module declares, in the order of its text."""
    declared = (value for value in vars(module).values() if isinstance(value, Operation))
    return tuple(operation for operation in declared if operation.resolver.__module__ == module.__name__)


def _audit_of(
    name: str, kind: OperationKind, needs: Permission, audit: Audit | Unaudited | None
) -> Audit | Unaudited | None:
    if kind is not OperationKind.MUTATION or audit is not None:
        return audit
    if needs is not Permission.SYSTEM:
        raise TypeError(f"The mutation {name} has no `audit`. Declare which of its calls the audit log records.")
    return WORK_OF_A_WORKER


def with_caller_note(description: str, needs: Permission) -> str:
    """Return a description with a note on the callers that may run the operation, if not all accounts may."""
    if needs is Permission.ANYONE:
        note = "No credentials are required."
    elif needs is Permission.TOKEN:
        note = "Requires the credentials or a token of an account."
    elif needs is Permission.OWN_STATUS:
        note = "Requires the credentials or a token of an account, or a token of an external directory."
    elif needs is Permission.OWN_DISPLAY:
        note = "For paired displays only."
    elif needs not in GRANTS[Role.TEMPLATE_EDITOR]:
        note = "For administrators and applications only."
    elif needs not in GRANTS[Role.ACCOUNT]:
        note = "For template editors, administrators and applications only."
    elif not any(needs in permissions for permissions in OAUTH_SCOPES.values()):
        note = "OAuth access tokens are rejected."
    else:
        return description
    return f"{description}\n\n{note}"


def _arguments_of(resolver: Callable[..., Any]) -> Mapping[str, Argument]:
    """Return the arguments of a resolver: its keyword-only parameters, and the members of an unpacked TypedDict."""
    hints = get_type_hints(resolver, include_extras=True)
    arguments = dict[str, Argument]()
    for name, parameter in inspect.signature(resolver).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            arguments[name] = Argument(hints[name], parameter.default)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            (members,) = get_args(hints[name])
            for member, hint in get_type_hints(members, include_extras=True).items():
                is_required = member in members.__required_keys__
                if get_origin(hint) is NotRequired:
                    (hint,) = get_args(hint)
                arguments[member] = Argument(hint, inspect.Parameter.empty if is_required else None)
    return MappingProxyType(arguments)

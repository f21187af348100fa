"""Operations for connections that stay: what sockets and event streams ask for, run by the same resolvers."""

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import msgspec
import orjson
from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    VariableNode,
    Visitor,
    get_operation_ast,
    visit,
)
from graphql.execution.values import get_argument_values
from strawberry.types.arguments import convert_arguments

from wattgate.clock import Clock
from wattgate.graphql.context import Context
from wattgate.graphql.documents import errors_of, known
from wattgate.graphql.executor import Executor
from wattgate.graphql.operation import Kind, Operation
from wattgate.graphql.runner import Runner, permit
from wattgate.graphql.schema import Schema, tell
from wattgate.graphql.selection import RootField, compiled, root_field, selection_of
from wattgate.graphql.traced import named
from wattgate.names import camel
from wattgate.principal import Authenticate, Principal, Scope
from wattgate.realtime.protocol import Request
from wattgate.realtime.service import Answer, Refused
from wattgate.realtime.subscription import Subscription
from wattgate.trail import CALLER

SINCE = "since"
"""The argument by which a client says where it was."""

MAX_PREPARED = 1_024
"""How many subscriptions, by document and variables, are kept as they were prepared; the least recent gives way."""

MAX_COMPILED = 512
"""How many compiled selections are kept; of more, all are made anew."""

Ended = Callable[[Collection[Principal], datetime], Awaitable[set[Principal]]]
"""Answers those callers whose token or account is good no longer."""


class Prepared(NamedTuple):
    """What does not depend on who subscribes: the operation and its arguments, and how payloads are executed."""

    operation: Operation
    arguments: Mapping[str, Any]
    resumes: bool
    since: str | None
    key: str
    at_once: Callable[[Any], bytes] | None


class LiveService:
    """Executes what connections ask for, as `realtime.service.Service` says."""

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        operations: Sequence[Operation],
        authenticate: Authenticate,
        ended: Ended,
        clock: Clock,
    ) -> None:
        self._schema = schema
        self._runner = runner
        self._subscriptions = {camel(one.name): one for one in operations if one.kind is Kind.SUBSCRIPTION}
        self._authenticate = authenticate
        self._ended = ended
        self._clock = clock
        self._prepared = lru_cache(MAX_PREPARED)(self._prepare)
        self._compiled: dict[Hashable, Callable[[Any], bytes] | None] = {}

    def now(self) -> datetime:
        return self._clock()

    async def authenticate(self, credentials: Mapping[str, str]) -> Principal:
        return await self._authenticate(credentials)

    async def ended(self, principals: Collection[Principal]) -> set[Principal]:
        return await self._ended(principals, self._clock())

    async def begin(self, principal: Principal, request: Request) -> Answer | Subscription:
        CALLER.set(principal)
        try:
            document = known(self._schema._schema, request.query)
        except GraphQLError:
            raise _refusal(errors_of(self._schema._schema, request.query)) from None
        try:
            node = _operation(document, request.operation_name)
            if node.operation is OperationType.SUBSCRIPTION:
                name = None if node.name is None else node.name.value
                with self._runner.spans.served("subscription", named("subscription", name)):
                    return await self._subscription(principal, request, document, node)
        except GraphQLError as error:
            raise _refusal([error]) from None
        return await self._answer(principal, request)

    def subscribes(self, request: Request) -> bool:
        """Whether a subscription is asked for. Refused where the document is not valid."""
        return self._kind(request) is OperationType.SUBSCRIPTION

    def mutates(self, request: Request) -> bool:
        """Whether a mutation is asked for; what is wrong with the document is told when it is begun."""
        try:
            return self._kind(request) is OperationType.MUTATION
        except Refused:
            return False

    def _kind(self, request: Request) -> OperationType:
        try:
            return _operation(known(self._schema._schema, request.query), request.operation_name).operation
        except GraphQLError as error:
            raise _refusal([error]) from None

    async def _answer(self, principal: Principal, request: Request) -> Answer:
        result = await self._schema.execute(
            request.query, request.variables, Context(self._runner, principal), operation_name=request.operation_name
        )
        if result.data is None and not any(error.path for error in result.errors or ()):
            raise _refusal(result.errors or (), told=True)  # it was not executed at all
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = [error.formatted for error in result.errors]
        return Answer(orjson.dumps(body))

    async def _subscription(
        self, principal: Principal, request: Request, document: DocumentNode, node: OperationDefinitionNode
    ) -> Subscription:
        """What a subscription follows, if the caller may follow it."""
        variables, since = dict(request.variables or {}), None
        moving = _since_variable(document, node)
        if moving is not None and moving in variables:
            since, variables[moving] = variables[moving], ""
        if since is not None and not isinstance(since, str):
            raise GraphQLError("since is a position, which is a text")
        told_apart = (request.query, request.operation_name, _canonical(variables))
        prepared = self._prepared(*told_apart)
        operation = prepared.operation
        watch = await self._runner.run(operation, principal, dict(prepared.arguments))
        plain = prepared.at_once is not None and watch.view is None
        return Subscription(
            key=(*told_apart, _data_scope(principal, permit(principal, operation.needs), plain)),
            watch=watch,
            selection=selection_of(prepared.key, prepared.at_once, lambda: self._executor(*told_apart, principal)),
            read=partial(self._runner.read, principal, operation.needs),
            resumes=prepared.resumes,
            since=since or prepared.since,
        )

    def _prepare(self, text: str, operation_name: str | None, variables: bytes) -> Prepared:
        """Look at a subscription as far as that does not depend on the caller. GraphQLError where it is wrong."""
        executor = self._executor(text, operation_name, variables)
        root = root_field(executor)
        declared = root.definition.extensions["strawberry-definition"]
        node = root.nodes[0].node
        given = get_argument_values(root.definition, node, executor.variable_values)
        arguments = convert_arguments(
            given, declared.arguments, self._schema.schema_converter.scalar_registry, self._schema.config
        )
        since = arguments.pop(SINCE, None)
        return Prepared(
            self._subscriptions[node.name.value],
            arguments,
            any(argument.name.value == SINCE for argument in node.arguments or ()),
            since,
            root.key,
            self._compile(text, operation_name, variables, executor, root),
        )

    def _compile(
        self, text: str, operation_name: str | None, variables: bytes, executor: Executor, root: RootField
    ) -> Callable[[Any], bytes] | None:
        """The compiled selection of a root field. Variables make no difference unless a directive names one."""
        key = (text, operation_name, variables if _is_conditional(self._schema._schema, text) else b"")
        if key not in self._compiled:
            if len(self._compiled) >= MAX_COMPILED:
                self._compiled.clear()
            self._compiled[key] = compiled(executor, root)
        return self._compiled[key]

    def _executor(
        self, text: str, operation_name: str | None, variables: bytes, principal: Principal | None = None
    ) -> Executor:
        """What executes a document. GraphQLError where a variable is wrong."""
        built = Executor.build(
            self._schema._schema,
            known(self._schema._schema, text),
            context_value=None if principal is None else Context(self._runner, principal),
            raw_variable_values=orjson.loads(variables),
            operation_name=operation_name,
        )
        if isinstance(built, list):
            raise built[0]
        return cast(Executor, built)


def _operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    """The operation that is asked for. GraphQLError where it is not clear which."""
    found = get_operation_ast(document, name)
    if found is None:
        raise GraphQLError(
            "a document of several operations needs an operationName"
            if name is None
            else f"the document has no operation {name}"
        )
    return found


def _since_variable(document: DocumentNode, node: OperationDefinitionNode) -> str | None:
    """The variable that says where the client was and nothing else: those who differ in it alone are told the same."""
    names = [
        argument.value.name.value
        for field in node.selection_set.selections
        if isinstance(field, FieldNode)
        for argument in field.arguments or ()
        if argument.name.value == SINCE and isinstance(argument.value, VariableNode)
    ]
    if len(names) != 1:
        return None
    found = _Variables(names[0])
    visit(document, found)
    return names[0] if found.count == 2 else None  # where it is declared, and where it is used


@lru_cache(MAX_COMPILED)
def _is_conditional(schema: GraphQLSchema, text: str) -> bool:
    """Whether what is selected depends on variables, which only directives can make it do."""
    found = _Conditions()
    visit(known(schema, text), found)
    return found.any


class _Conditions(Visitor):
    """Looks for directives that name a variable."""

    any = False

    def enter_directive(self, node: DirectiveNode, *place: Any) -> None:
        self.any = self.any or any(isinstance(one.value, VariableNode) for one in node.arguments or ())


class _Variables(Visitor):
    """Counts how often a variable is named."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.count = 0

    def enter_variable(self, node: VariableNode, *place: Any) -> None:
        self.count += node.name.value == self._name


def _canonical(variables: Mapping[str, Any]) -> bytes:
    """Variables as text that is the same for equal ones."""
    return msgspec.json.encode(variables, order="sorted")


def _data_scope(principal: Principal, scope: Scope, plain: bool) -> Hashable:
    """What two callers have in common who may be told the same bytes.

    A plain selection of an event's payload shows nothing but that; others are executed with the caller's permissions.
    """
    rows = (principal.application_id, principal.user_id if scope is Scope.OWN else None)
    return rows if plain else (*rows, principal.role, principal.user_id, principal.account_id, principal.scopes)


def _refusal(errors: Sequence[GraphQLError], *, told: bool = False) -> Refused:
    """The errors by which an operation is refused; the error contract is put on them unless they have it already."""
    for error in errors:
        if not told:
            tell(error)
    return Refused(orjson.dumps([error.formatted for error in errors]))

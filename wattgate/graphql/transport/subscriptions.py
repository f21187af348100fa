"""Execution of the operations that sockets and event streams request, with the same resolvers as over HTTP."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import msgspec
import orjson
from graphql import ExecutionResult, FieldNode, GraphQLError, GraphQLField, OperationType, VariableNode, Visitor, visit
from graphql.execution import VariableValues, get_argument_values
from graphql.execution.collect_fields import FieldDetails, collect_fields

from wattgate.clock import Clock
from wattgate.errors import BadInput, TooLarge
from wattgate.graphql.cost.operation_charge import BudgetExhausted
from wattgate.graphql.execution.compiled.engine import Plan
from wattgate.graphql.execution.documents.documents import Document, InvalidRequest
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.pipeline import GraphQLPipeline, operation_span, prepaid_units
from wattgate.graphql.execution.root_fields import require_permission
from wattgate.graphql.execution.schema import Schema, normalize_errors
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.core.row_reader import check_permission
from wattgate.operations.core.runner import Runner
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.principal import AccessScope, Authenticate, Principal
from wattgate.realtime.connections.service import OperationRejected, OperationResult, PreparedOperation
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions.subscription import RequiresAsync, Selection, Subscription
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.requests.fair_share import owner_of_caller
from wattgate.requests.request_context import CURRENT_PRINCIPAL, REPEATED_HASH
from wattgate.requests.request_limits import MAX_SUBSCRIPTION_BYTES
from wattgate.values.stored_json import encode_json
from wattgate.values.terms import MAX_SINCE_CHARACTERS

SINCE = "since"
"""The argument in which a client sends its last position."""

MAX_PREPARED_SUBSCRIPTIONS = 1_024
"""Number of prepared subscriptions, by document and variables, in the cache. The least recently used is evicted."""

FindRevoked = Callable[[Collection[Principal], datetime], Awaitable[set[Principal]]]
"""Returns the callers whose token or account is no longer valid."""


class PreparedSubscription(NamedTuple):
    """The parts of a subscription that do not depend on the subscriber: operation, arguments, and payload execution."""

    operation: Operation
    arguments: Mapping[str, Any]
    resumes: bool
    since: str | None
    key: str
    plan: Plan | None
    variables: VariableValues
    execute_sync: Callable[[Any], bytes] | None
    document: Document

    @property
    def payload_function(self) -> Callable[[GraphQLContext, Any], Awaitable[Any]] | None:
        """The plan's function for payloads with edges, or None if the selection has no edges or no plan."""
        if self.plan is None or self.execute_sync is not None:
            return None
        root = self.plan.roots[self.key]
        return lambda context, payload: root(context, self.variables, payload)


@dataclass(frozen=True, slots=True)
class ResolvedOperation:
    """A request with the text of its document, and the parsed operation that it names."""

    request: OperationRequest
    document: Document

    @property
    def is_mutation(self) -> bool:
        return self.document.kind is OperationType.MUTATION

    @property
    def is_subscription(self) -> bool:
        return self.document.kind is OperationType.SUBSCRIPTION


@dataclass(frozen=True, slots=True)
class SubscriptionKey:
    """The cache key of a prepared subscription: text, operation name and variables in canonical form.

    `document` and `variables` are for the first look-up and do not take part in comparison.
    """

    text: str
    operation_name: str | None
    canonical_variables: bytes
    document: Document = field(compare=False)
    variables: Mapping[str, Any] = field(compare=False)

    @classmethod
    def create(cls, request: OperationRequest, document: Document, variables: Mapping[str, Any]) -> "SubscriptionKey":
        return cls(request.query or "", request.operation_name, _encode_canonical(variables), document, variables)

    @property
    def parts(self) -> tuple[str, str | None, bytes]:
        return self.text, self.operation_name, self.canonical_variables


class SubscriptionService:
    """The service that connections use to execute operations; see `realtime.connections.service`."""

    def __init__(
        self,
        pipeline: GraphQLPipeline,
        schema: Schema,
        runner: Runner,
        operations: Sequence[Operation],
        authenticate: Authenticate,
        find_revoked: FindRevoked,
        clock: Clock,
    ) -> None:
        self.pipeline = pipeline
        self._schema = schema
        self._runner = runner
        self._subscriptions = {
            operation.graphql_name: operation
            for operation in operations
            if operation.kind is OperationKind.SUBSCRIPTION
        }
        self._authenticate = authenticate
        self._find_revoked = find_revoked
        self._clock = clock
        self.prepare_cached = lru_cache(MAX_PREPARED_SUBSCRIPTIONS)(self._prepare)

    def now(self) -> datetime:
        return self._clock()

    async def authenticate(self, credentials: Mapping[str, str]) -> Principal:
        principal = await self._authenticate(credentials)
        REPEATED_HASH.set(None)  # the operations of a socket do not authenticate again
        return principal

    async def find_revoked(self, principals: Collection[Principal]) -> set[Principal]:
        return await self._find_revoked(principals, self._clock())

    async def charge_request(self, principal: Principal, size: int) -> None:
        try:
            await self.pipeline.charge_request(principal, size)
        except BudgetExhausted as exhausted:
            raise exhausted.error from None

    async def prepare(self, principal: Principal, request: OperationRequest) -> ResolvedOperation:
        try:
            return ResolvedOperation(*await self.pipeline.resolve_document(principal, request))
        except InvalidRequest as invalid:
            raise _rejection(invalid.errors) from None
        except BudgetExhausted as exhausted:
            raise exhausted.error from None

    async def start_operation(
        self, principal: Principal, request: OperationRequest, prepared: PreparedOperation | None = None
    ) -> OperationResult | Subscription:
        CURRENT_PRINCIPAL.set(principal)
        resolved = prepared if isinstance(prepared, ResolvedOperation) else await self.prepare(principal, request)
        request, document = resolved.request, resolved.document
        try:
            if resolved.is_subscription:
                with operation_span(self._runner.tracer, document.operation):
                    return await self._begin_subscription(principal, request, document)
            reply = await self.pipeline.execute(principal, request, document)
        except InvalidRequest as invalid:
            raise _rejection(invalid.errors) from None
        except BudgetExhausted as exhausted:
            raise exhausted.error from None
        return OperationResult(await reply.encode_with_cost())

    async def _begin_subscription(
        self, principal: Principal, request: OperationRequest, document: Document
    ) -> Subscription:
        """Start a subscription if the caller has the permission for it."""
        require_permission(principal, document.root_fields)
        if request.size > MAX_SUBSCRIPTION_BYTES:
            raise TooLarge(f"A request for a subscription has at most {MAX_SUBSCRIPTION_BYTES:,} bytes.")
        variables, since = dict(request.variables or {}), None
        since_variable = _since_variable(document)
        if since_variable is not None and since_variable in variables:
            since, variables[since_variable] = variables[since_variable], ""
        if since is not None and not isinstance(since, str):
            raise InvalidRequest([GraphQLError("since must be a position, which is a string")])
        if since is not None and len(since) > MAX_SINCE_CHARACTERS:
            raise BadInput(f"since has {len(since):,} characters; the maximum is {MAX_SINCE_CHARACTERS:,}")
        key = SubscriptionKey.create(request, document, variables)
        if document.is_long:
            engine = self.pipeline.engine
            await engine.compile_in_turn(principal, document, engine.coerce_variables(document, variables))
        prepared = self.prepare_cached(key)
        operation = prepared.operation
        await self.pipeline.charge(principal, document, prepared.variables, prepaid_units(principal, request))
        source: SubscriptionSource = await self._runner.run(operation, principal, dict(prepared.arguments))
        is_shared = source.reducer is None or source.depends_on_rows_only
        payload_only = prepared.execute_sync is not None and is_shared
        return Subscription(
            key=(
                *key.parts,
                _sharing_key(principal, check_permission(principal, operation.needs, is_read=True), payload_only),
            ),
            source=source,
            selection=build_selection(
                prepared.key,
                prepared.execute_sync,
                prepared.payload_function,
                lambda: self.build_executor(replace(key, document=prepared.document)),
                partial(self._event_context, principal, prepared),
            ),
            read=partial(self._runner.read, principal, operation.needs),
            resumes=prepared.resumes,
            since=since or prepared.since,
            owner=owner_of_caller(principal),
        )

    def _prepare(self, key: SubscriptionKey) -> PreparedSubscription:
        """Prepare the parts of a subscription that do not depend on the caller. Raise InvalidRequest if it is wrong."""
        document = key.document
        variables = self.pipeline.engine.coerce_variables(document, key.variables)
        plan = self.pipeline.engine.get_or_compile(document, variables)
        root = find_compiled_root_field(plan) or find_root_field(self.build_executor(key))
        declared = root.definition.extensions[STRAWBERRY_DEFINITION]
        node = root.nodes[0].node
        arguments = self._schema.convert_arguments(
            get_argument_values(root.definition, node, variables), declared.arguments
        )
        since = arguments.pop(SINCE, None)
        return PreparedSubscription(
            self._subscriptions[node.name.value],
            arguments,
            any(argument.name.value == SINCE for argument in node.arguments or ()),
            since,
            root.key,
            plan,
            variables,
            build_execute_sync(plan, root.key, variables),
            document,
        )

    def _event_context(self, principal: Principal, prepared: PreparedSubscription) -> GraphQLContext:
        """Return the context of one event. It charges what the event costs above the estimate of the subscription."""
        charge = self.pipeline.event_charge(principal, prepared.document, prepared.variables)
        return GraphQLContext(self._runner, principal, charge)

    def build_executor(self, key: SubscriptionKey) -> Executor:
        """Build graphql-core's executor for a document without a plan. Raise InvalidRequest if a variable is wrong."""
        built = Executor.build(
            self._schema.core,
            key.document.node,
            raw_variable_values=dict(key.variables),
            operation_name=key.operation_name,
        )
        if isinstance(built, list):
            raise InvalidRequest(built)
        return cast(Executor, built)


def _since_variable(document: Document) -> str | None:
    """Return the variable that contains `since` and nothing else, or None.

    Its value is removed from the cache key, because subscriptions that differ only in it get the same payloads.
    """
    names = [
        argument.value.name.value
        for field in document.operation.selection_set.selections
        if isinstance(field, FieldNode)
        for argument in field.arguments or ()
        if argument.name.value == SINCE and isinstance(argument.value, VariableNode)
    ]
    if len(names) != 1:
        return None
    counter = _VariableCounter(names[0])
    visit(document.node, counter)
    return names[0] if counter.count == 2 else None  # one declaration and one use


class _VariableCounter(Visitor):
    """Count the occurrences of a variable."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.count = 0

    def enter_variable(self, node: VariableNode, *position: Any) -> None:
        self.count += node.name.value == self._name


def _encode_canonical(variables: Mapping[str, Any]) -> bytes:
    """Encode variables as bytes that are the same for equal variables."""
    try:
        return msgspec.json.encode(variables, order="sorted")
    except (RecursionError, TypeError, OverflowError):
        raise InvalidRequest([GraphQLError("the variables are nested too deeply")]) from None


def _sharing_key(principal: Principal, scope: AccessScope, payload_only: bool) -> Hashable:
    """Return a key that is equal for callers that get identical bytes.

    A selection of only the payload depends on the rows that the caller may see, and on whether the caller is an
    application that acts for the user, which needs a valid consent. Others are executed with the caller's permissions,
    and so also depend on its role, user, account and OAuth scopes.
    """
    rows = (
        principal.application_id,
        None if scope is AccessScope.APPLICATION else principal.user_id,
        principal.ve_id if scope is AccessScope.HOME else None,
        principal.acts_for_user,
    )
    return (
        rows
        if payload_only
        else (*rows, principal.role, principal.user_id, principal.account_id, principal.oauth_scopes)
    )


def _rejection(errors: Sequence[GraphQLError]) -> OperationRejected:
    """Return the rejection of an operation that was not executed."""
    return OperationRejected(orjson.dumps([error.formatted for error in normalize_errors(errors)]))


# The selection of a subscriber, as a function from event payloads to response bytes.
#
# The compiled plan of the document executes a payload, synchronously if the selection has no edges. graphql-core
# executes payloads that do not match their type, and all payloads of documents without a plan.


class RootField(NamedTuple):
    """The only root field of a subscription: its response key, its definition and its nodes in the document."""

    key: str
    definition: GraphQLField
    nodes: list[FieldDetails]


def find_root_field(executor: Executor) -> RootField:
    """Return the root field of a subscription. Raise GraphQLError if directives exclude it."""
    root = executor.schema.subscription_type
    assert root is not None  # the schema always has subscriptions
    collected = collect_fields(
        executor.schema, executor.fragments, executor.variable_values, root, executor.operation
    ).grouped_field_set
    for key, nodes in collected.items():
        return RootField(key, root.fields[nodes[0].node.name.value], nodes)
    raise GraphQLError("the subscription selects nothing")


def find_compiled_root_field(plan: Plan | None) -> RootField | None:
    """Return the root field of a compiled subscription; None if graphql-core has to find it, or the error."""
    if plan is None or len(plan.fields) != 1:
        return None
    ((key, selected),) = plan.fields.items()
    return None if selected.field is None else RootField(key, selected.field, list(selected.nodes))


def build_execute_sync(plan: Plan | None, key: str, variables: VariableValues) -> Callable[[Any], bytes] | None:
    """Return a synchronous function for a selection that needs only the payload, or None if it has edges."""
    if plan is None or plan.fields[key].has_nested_edges:
        return None
    root = plan.roots[key]

    def execute(payload: Any) -> bytes:
        try:
            return _encode_data({key: root(None, variables, payload)})
        except Exception as error:
            raise RequiresAsync from error

    return execute


def build_selection(
    key: str,
    execute_sync: Callable[[Any], bytes] | None,
    execute_plan: Callable[[GraphQLContext, Any], Awaitable[Any]] | None,
    build_executor: Callable[[], Executor],
    build_context: Callable[[], GraphQLContext],
) -> Selection:
    """Return the selection of a root field, by its response key.

    `execute_sync` handles selections that need only the payload, `execute_plan` those with edges, and the executor of
    graphql-core all others and all payloads for which these fail. Each event has a context of its own.
    """
    executors: list[Executor] = []

    async def execute_async(payload: Any) -> bytes:
        context = build_context()
        if execute_plan is not None:
            try:
                return _encode_data({key: await execute_plan(context, payload)})
            except Exception:  # noqa: BLE001, S110 (graphql-core executes the payload below and reports the error)
                pass
        if not executors:
            executors.append(build_executor())
        executors[0].context_value = context
        return await execute_with_graphql_core(executors[0], payload)

    return Selection(execute_sync, execute_async, empty_result=_encode_data({key: None}), key=key)


async def execute_with_graphql_core(executor: Executor, payload: Any) -> bytes:
    """Execute a payload with graphql-core. Return its result and errors in JSON, without the last brace."""
    result = executor.build_per_event_executor(payload).execute_operation(False)
    if inspect.isawaitable(result):
        result = await result
    assert isinstance(result, ExecutionResult)  # subscriptions support no @defer
    response: dict[str, Any] = {"data": result.data}
    if result.errors:
        response["errors"] = [error.formatted for error in normalize_errors(result.errors)]
    return encode_json(response)[:-1]


def _encode_data(data: dict[str, Any]) -> bytes:
    return b'{"data":' + encode_json(data)

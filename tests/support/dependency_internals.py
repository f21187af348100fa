"""The private and undocumented names of dependencies that the gateway uses, each with the file and the reason.

A name is private if it begins with an underscore. It is undocumented if the documentation of its library lists neither
it nor its module (`DOCUMENTED_MODULES`). `tests/test_dependency_internals.py` compares the lists with the code of the
gateway and with the installed versions.

uvicorn documents its settings and its command line only. The gateway extends its protocol classes, so that a plain
request and a socket cost no ASGI messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ATTRIBUTE = ""
"""The parameters of a name that is no function."""


@dataclass(frozen=True, slots=True)
class Internals:
    """The names that a class of the gateway takes from its base class, or a module from another one.

    `names` has the parameters of each function, without types and defaults, and ATTRIBUTE for other names. `subclass`
    is the class of the gateway that extends the owner. Its entry has every inherited name that it uses, or the private
    ones if the owner is one of DOCUMENTED_CLASSES.
    """

    file: str
    owner: str
    why: str
    names: Mapping[str, str]
    subclass: str = field(default="", kw_only=True)


def _attributes(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), ATTRIBUTE)


HTTPTOOLS = "uvicorn.protocols.http.httptools_impl"
SANS_IO = "uvicorn.protocols.websockets.websockets_sansio_impl"
HTTP_PROTOCOL, PIPELINED, DEADLINES, LINGERING, HTTP_1_0, DIRECT, WIRE, SERVING = (
    "app/server/edge/http_protocol.py",
    "app/server/edge/pipelined_requests.py",
    "app/server/edge/http_deadlines.py",
    "app/server/edge/lingering_close.py",
    "app/server/edge/http_protocol.py",
    "app/server/edge/direct_graphql.py",
    "realtime/connections/wires/uvicorn_wire.py",
    "app/server/edge/serving.py",
)

SERVER = (
    Internals(
        PIPELINED,
        f"{HTTPTOOLS}:HttpToolsProtocol",
        "bounds the requests that are parsed ahead, and answers them in their order while the client reads",
        {
            "__init__": "self, config, server_state, app_state, _loop",
            "connection_made": "self, transport",
            "connection_lost": "self, exc",
            "data_received": "self, data",
            "handle_websocket_upgrade": "self",
            "on_response_complete": "self",
            "resume_writing": "self",
            "_start_asgi_task": "self, cycle, app",
            "_unset_keepalive_if_required": "self",
            **_attributes("cycle flow pipeline server_state transport"),
        },
        subclass="PipelinedProtocol",
    ),
    Internals(
        PIPELINED,
        HTTPTOOLS,
        "the class that it extends, and the type of a request",
        _attributes("HttpToolsProtocol RequestResponseCycle"),
    ),
    Internals(
        PIPELINED,
        "uvicorn.protocols.http.flow_control",
        "the flow that it extends, and the bytes of a body above which reading waits for the application",
        _attributes("FlowControl HIGH_WATER_LIMIT"),
    ),
    Internals(
        PIPELINED,
        "uvicorn.protocols.http.flow_control:FlowControl",
        "pauses reading while bytes are held, and begins no response while the client does not read",
        {"pause_reading": "self", "resume_reading": "self", **_attributes("read_paused")},
        subclass="HeldFlow",
    ),
    Internals(
        DEADLINES,
        f"{HTTPTOOLS}:HttpToolsProtocol",
        "sets a deadline for each part of a request, and for the reading of responses",
        {
            "__init__": "self, config, server_state, app_state, _loop",
            "connection_lost": "self, exc",
            "pause_writing": "self",
            "resume_writing": "self",
            "timeout_keep_alive_handler": "self",
            **_attributes("client cycle flow loop transport"),
        },
        subclass="DeadlineProtocol",
    ),
    Internals(
        LINGERING,
        f"{HTTPTOOLS}:HttpToolsProtocol",
        "reads on after the last response, so that no reset destroys it",
        {
            "__init__": "self, config, server_state, app_state, _loop",
            "on_message_complete": "self",
            "on_response_complete": "self",
            "shutdown": "self",
            **_attributes("cycle expect_100_continue flow loop pipeline server_state transport"),
        },
        subclass="LingeringProtocol",
    ),
    Internals(
        LINGERING,
        HTTPTOOLS,
        "the class whose end of a message it extends, and the type of a request",
        _attributes("HttpToolsProtocol RequestResponseCycle"),
    ),
    Internals(
        LINGERING,
        f"{HTTPTOOLS}:RequestResponseCycle",
        "keeps an early response until the body of its request has arrived",
        _attributes("more_body"),
    ),
    Internals(
        HTTP_PROTOCOL,
        f"{HTTPTOOLS}:HttpToolsProtocol",
        "bounds heads while they arrive, ends each request where RFC 9112 does, sets deadlines, and answers directly",
        {
            "__init__": "self, config, server_state, app_state, _loop",
            "connection_made": "self, transport",
            "connection_lost": "self, exc",
            "data_received": "self, data",
            "handle_websocket_upgrade": "self",
            "on_message_begin": "self",
            "on_url": "self, url",
            "on_header": "self, name, value",
            "on_headers_complete": "self",
            "on_body": "self, body",
            "on_message_complete": "self",
            "on_response_complete": "self",
            "_should_upgrade": "self",
            "_start_asgi_task": "self, cycle, app",
            **_attributes(
                "access_log access_logger app client config connections cycle expect_100_continue flow headers "
                "limit_concurrency logger loop parser pipeline root_path scheme scope server_state "
                "timeout_keep_alive_task transport url ws_protocol_class"
            ),
        },
        subclass="GuardedHttpProtocol",
    ),
    Internals(
        DIRECT,
        f"{HTTPTOOLS}:RequestResponseCycle",
        "writes the response to a plain request for GraphQL in one piece",
        {
            "run_asgi": "self, app",
            "send": "self, message",
            **_attributes(
                "chunked_encoding default_headers disconnected expected_content_length flow keep_alive message_event "
                "on_response response_complete response_started transport"
            ),
        },
        subclass="DirectCycle",
    ),
    Internals(
        DIRECT,
        HTTPTOOLS,
        "the lines of statuses, as bytes, and the class of a request",
        _attributes("STATUS_LINE RequestResponseCycle"),
    ),
    Internals(DIRECT, "uvicorn._types", "the type of an application", _attributes("ASGI3Application")),
    Internals(
        HTTP_PROTOCOL,
        HTTPTOOLS,
        "the type of a request, and the class whose methods it calls by name, because that costs less than `super`",
        _attributes("HttpToolsProtocol RequestResponseCycle"),
    ),
    Internals(
        HTTP_PROTOCOL,
        f"{HTTPTOOLS}:RequestResponseCycle",
        "begins the direct answer with the arguments that uvicorn gives",
        {
            "__init__": "self, scope, transport, flow, logger, access_logger, access_log, default_headers, "
            "message_event, expect_100_continue, keep_alive, on_response"
        },
    ),
    Internals(
        HTTP_1_0,
        f"{HTTPTOOLS}:RequestResponseCycle",
        "keeps responses to HTTP/1.0 from chunks",
        _attributes("chunked_encoding expected_content_length"),
    ),
    Internals(HTTP_1_0, HTTPTOOLS, "the type of a request", _attributes("RequestResponseCycle")),
    Internals(
        HTTP_PROTOCOL,
        "uvicorn.protocols.http.flow_control:FlowControl",
        "reads nothing more while a response waits",
        {"pause_reading": "self", **_attributes("write_paused")},
    ),
    Internals(
        WIRE,
        f"{SANS_IO}:WebSocketsSansIOProtocol",
        "hands a socket over after its handshake, because messages through ASGI cost a task for each connection",
        {
            "handle_connect": "self, event",
            "stop_keepalive": "self",
            **_attributes("close_sent close_timer conn connections loop request scope transport"),
        },
        subclass="UvicornWire",
    ),
    Internals(WIRE, SANS_IO, "the class that it extends", _attributes("WebSocketsSansIOProtocol")),
    Internals(
        SERVING,
        "uvicorn:Server",
        "drains connections and requests at a shutdown",
        {
            "__init__": "self, config",
            "handle_exit": "self, sig, frame",
            "startup": "self, sockets",
            "shutdown": "self, sockets",
            **_attributes("config force_exit lifespan server_state servers should_exit started"),
        },
        subclass="DrainingServer",
    ),
    Internals(
        SERVING,
        "uvicorn.server:ServerState",
        "cancels running requests at a second signal, and closes idle connections",
        _attributes("connections tasks"),
    ),
    Internals(
        DIRECT,
        "uvicorn.protocols.http.flow_control:FlowControl",
        "waits for a client that reads slowly",
        {"drain": "self", **_attributes("write_paused")},
    ),
    Internals(
        HTTP_PROTOCOL,
        "uvicorn.server:ServerState",
        "sends the headers of each response",
        _attributes("default_headers"),
    ),
    *(
        Internals(file, "uvicorn.server:ServerState", "counts the requests", _attributes("total_requests"))
        for file in (PIPELINED, LINGERING)
    ),
    Internals(SERVING, f"{HTTPTOOLS}:HttpToolsProtocol", "ends an idle connection at a shutdown", {"shutdown": "self"}),
    Internals(
        SERVING,
        "uvicorn:Config",
        "finds the connections of HTTP, and shortens the wait for requests",
        _attributes("http_protocol_class timeout_graceful_shutdown"),
    ),
    Internals(
        "realtime/connections/wires/frame_wire.py",
        "websockets.protocol:Protocol",
        "parses and fails frames; the documentation covers its subclasses ServerProtocol and ClientProtocol only",
        {
            "receive_data": "self, data",
            "events_received": "self",
            "data_to_send": "self",
            "send_close": "self, code, reason",
            "fail": "self, code, reason",
            **_attributes("parser_exc"),
        },
    ),
    Internals(
        "app/server/edge/socket_upgrade.py",
        "websockets.protocol:Protocol",
        "creates the parser of a socket without the handshake of websockets",
        {"__init__": "self, side, state, max_size, logger"},
    ),
    Internals(
        "app/server/edge/socket_upgrade.py",
        "websockets.utils",
        "computes Sec-WebSocket-Accept",
        {"accept_key": "key"},
    ),
)
"""The names of uvicorn and websockets."""

POOL, READER, SCOPED, SQLITE = (
    "db/connections/reading_pool.py",
    "db/connections/reader.py",
    "db/connections/scoped_connection.py",
    "db/connections/sqlite_connection.py",
)

DATABASE = (
    Internals(
        POOL,
        "sqlalchemy.pool:AsyncAdaptedQueuePool",
        "lends the entry of the pool itself: SQLAlchemy's wrapper of an entry takes 65 µs",
        {"_do_get": "self", "_do_return_conn": "self, record", **_attributes("_pool")},
        subclass="ReadingPool",
    ),
    Internals(
        POOL,
        "sqlalchemy.pool.base:_ConnectionRecord",
        "finds out whether an entry can be used, and opens its connection again",
        {
            "_is_hard_or_soft_invalidated": "self",
            "get_connection": "self",
            "invalidate": "self, e, soft",
            **_attributes("dbapi_connection driver_connection info"),
        },
    ),
    Internals(
        POOL,
        "sqlalchemy.dialects.postgresql.asyncpg:AsyncAdapt_asyncpg_connection",
        "begins the transaction of a session for statements that the driver executes",
        {"_start_transaction": "self", **_attributes("_transaction")},
    ),
    Internals(
        POOL,
        "sqlalchemy.util",
        "opens connections, for which SQLAlchemy needs one of its greenlets",
        {"greenlet_spawn": "fn, args, _require_await, kwargs"},
    ),
    Internals(
        READER,
        "sqlalchemy.sql.compiler:SQLCompiler",
        "executes compiled statements with the driver, which takes half the time",
        _attributes("binds positiontup"),
    ),
    Internals(
        READER,
        "sqlalchemy.engine:Connection",
        "lets SQLAlchemy execute a statement on a connection that the pool has lent",
        {"__init__": "self, engine, connection, _has_events, _allow_revalidate, _allow_autobegin"},
    ),
    Internals(
        READER,
        "sqlalchemy.ext.asyncio:AsyncConnection",
        "does the same for asyncio",
        {"__init__": "self, async_engine, sync_connection"},
    ),
    Internals(
        "db/rows/lookups.py",
        "sqlalchemy.sql.base",
        "the type of the columns of a table, for annotations",
        _attributes("ReadOnlyColumnCollection"),
    ),
    Internals(
        SCOPED,
        "asyncpg:Connection",
        "wraps the protocol object, and executes a statement with fewer calls than `fetch`",
        {
            "_get_statement": "self, query, timeout, named, use_cache, ignore_custom_codec, record_class",
            **_attributes("_protocol _query_loggers _stmt_exclusive_section"),
        },
        subclass="ScopedConnection",
    ),
    Internals(
        SCOPED,
        "asyncpg:Connection",
        "sends a statement without a name, and keeps the settings of a session, for poolers of transactions",
        {
            "_get_statement": "self, query, timeout, named, use_cache, ignore_custom_codec, record_class",
            **_attributes("_server_caps"),
        },
        subclass="PooledConnection",
    ),
    Internals(
        SCOPED,
        "asyncpg.connection:ServerCapabilities",
        "turns the setting `jit` off, which asyncpg changes in the session",
        _attributes("jit"),
    ),
    Internals(
        SCOPED,
        "asyncpg.protocol.protocol:BaseProtocol",
        "writes the row scope, locks and BEGIN before a statement, in one round trip",
        {
            "_is_cancelling": "self",
            "_wait_for_cancellation": "self, timeout",
            "bind": "self, state, args, portal_name, timeout",
            "bind_execute": "self, state, args, portal_name, limit, return_extra, timeout",
            "bind_execute_many": "self, state, args, portal_name, timeout, return_rows",
            "copy_in": "self, copy_stmt, reader, data, records, record_stmt, timeout",
            "copy_out": "self, copy_stmt, sink, timeout",
            "query": "self, query, timeout",
            **_attributes("get_record_class is_connected"),
        },
    ),
    Internals(
        SCOPED,
        "asyncpg.protocol.protocol:PreparedStatementState",
        "lets asyncpg send Parse again, for poolers of transactions",
        {"mark_unprepared": "self"},
    ),
    Internals(
        SQLITE,
        "aiosqlite:Connection",
        "runs a statement and reads its rows in one call to the thread of a connection, instead of four",
        {"_execute": "self, fn, args, kwargs", **_attributes("_conn")},
        subclass="OneCallConnection",
    ),
    Internals(
        SQLITE,
        "aiosqlite:Connection",
        "does not let a process wait for the thread of a connection, as SQLAlchemy does",
        {"__init__": "self, connector, iter_chunk_size, loop", **_attributes("_thread")},
    ),
)
"""The names of SQLAlchemy and the drivers of databases."""

ADAPTER = "operations/vocabulary/strawberry_adapter.py"
ENGINE, EXECUTOR, TREE, VARIABLES, SUBSCRIPTIONS = (
    "graphql/execution/compiled/engine.py",
    "graphql/execution/executor.py",
    "graphql/execution/compiled/selection_tree.py",
    "graphql/execution/documents/variables.py",
    "graphql/transport/subscriptions.py",
)

GRAPHQL = (
    Internals(
        ADAPTER,
        "strawberry:Schema",
        "reads, changes and executes the schema of graphql-core",
        _attributes("_schema schema_converter"),
    ),
    Internals(
        ADAPTER,
        "strawberry.schema.schema_converter:GraphQLCoreConverter",
        "knows the scalars of the schema, and converts a class that is no part of it",
        {"from_object": "self, object_type", **_attributes("scalar_registry")},
    ),
    Internals(ADAPTER, "strawberry:Info", "finds the charge of an edge by its node", _attributes("_raw_info")),
    Internals(
        ADAPTER,
        "strawberry.types.arguments",
        "converts coerced arguments as the fields of Strawberry do",
        {
            "convert_argument": "value, type_, scalar_registry, config, info, path",
            "convert_arguments": "value, arguments, scalar_registry, config, info",
            **_attributes("StrawberryArgument"),
        },
    ),
    Internals(
        ADAPTER,
        "strawberry.types.base",
        "converts input objects faster than Strawberry, and serves and describes types over REST",
        _attributes("StrawberryList StrawberryMaybe StrawberryObjectDefinition StrawberryOptional"),
    ),
    Internals(
        "graphql/execution/input_conversion.py",
        "strawberry.types.base:StrawberryObjectDefinition",
        "lets Strawberry call the converter of the gateway for each input object",
        _attributes("from_input fields"),
    ),
    Internals(
        ADAPTER,
        "strawberry.types.base:WithStrawberryDefinition",
        "finds the definition of an enum, for which Strawberry has no documented function",
        _attributes("__strawberry_definition__"),
    ),
    Internals(
        ADAPTER,
        "strawberry.types.enum",
        "describes the values of an enum of an area that does not know Strawberry",
        _attributes("EnumValue StrawberryEnumDefinition"),
    ),
    Internals(
        ADAPTER,
        "strawberry.types.enum:StrawberryEnumDefinition",
        "describes the values of an enum of an area that does not know Strawberry",
        _attributes("values"),
    ),
    Internals(
        ADAPTER,
        "strawberry.schema.name_converter",
        "gives the schema the names of the glossary, and REST those of Python",
        _attributes("HasGraphQLName NameConverter"),
    ),
    Internals(
        ADAPTER,
        "strawberry.schema.name_converter:NameConverter",
        "gives types, fields and arguments the names of the glossary",
        {
            "apply_naming_config": "self, name",
            "from_object": "self, object_type",
            "from_enum": "self, enum",
            "get_name_from_type": "self, type_",
        },
        subclass="GlossaryNames",
    ),
    Internals(
        ADAPTER,
        "strawberry.schema.schema_converter:CustomGraphQLEnumType",
        "copies an enum under its name in REST",
        {"__init__": "self, enum, args, kwargs"},
    ),
    Internals(ADAPTER, "strawberry.types.field", "reads the declaration of a field", _attributes("StrawberryField")),
    Internals(ADAPTER, "strawberry.types.scalar", "the type of a scalar", _attributes("ScalarDefinition")),
    Internals(
        ADAPTER,
        "strawberry.execution.is_awaitable",
        "tells awaitable values from others as Strawberry does",
        {"optimized_is_awaitable": "value"},
    ),
    Internals(
        ADAPTER,
        "strawberry.schema.schema",
        "the class that the executor extends",
        _attributes("StrawberryGraphQLCoreExecutionContext"),
    ),
    Internals(
        EXECUTOR,
        "strawberry.schema.schema:StrawberryGraphQLCoreExecutionContext",
        "returns columns of readings unchanged: to complete a month item by item takes longer than to read it",
        {"complete_list_value": "self, return_type, field_details_list, info, path, result, position_context"},
        subclass="Executor",
    ),
    Internals(
        TREE,
        "graphql.execution.collect_fields",
        "collects the fields of a selection as graphql-core does",
        {
            "collect_fields": "schema, fragments, variable_values, runtime_type, operation, hide_suggestions, "
            "forbid_skip_and_include, on_selection_set",
            "collect_subfields": "schema, fragments, variable_values, operation, return_type, field_details_list, "
            "hide_suggestions",
            **_attributes("FieldDetails FragmentDetails GroupedFieldSet"),
        },
    ),
    Internals(
        SUBSCRIPTIONS,
        "graphql.execution.collect_fields",
        "finds the root field of a subscription as graphql-core does",
        {
            "collect_fields": "schema, fragments, variable_values, runtime_type, operation, hide_suggestions, "
            "forbid_skip_and_include, on_selection_set",
            **_attributes("FieldDetails"),
        },
    ),
    Internals(
        ENGINE,
        "graphql.execution.collect_fields",
        "the type of a fragment, as the collection of fields takes it",
        _attributes("FragmentDetails"),
    ),
    Internals(
        VARIABLES,
        "graphql.execution.get_variable_signature",
        "builds the values of variables that need no coercion",
        {"get_variable_signature": "schema, var_def_node", **_attributes("GraphQLVariableSignature")},
    ),
    Internals(
        VARIABLES,
        "graphql.execution.values",
        "builds the values of variables that need no coercion",
        _attributes("VariableValueSource"),
    ),
    Internals(
        "graphql/cost/estimate.py",
        "graphql.utilities.coerce_input_value",
        "knows the default of an argument as graphql-core coerces it",
        {"coerce_default_value": "input_value"},
    ),
)
"""The names of Strawberry and graphql-core."""

LANGUAGE = "delivery/templates/language/language.py"
LIQUID = (
    Internals(
        LANGUAGE,
        "liquid:RenderContext",
        "limits loops and processor time, and reports missing variables",
        {
            "__init__": "self, template, globals, disabled_tags, copy_depth, parent_context, loop_iteration_carry, "
            "local_namespace_size_carry",
            "filter": "self, name, token",
            "get": "self, path, token, default",
            "get_item": "self, obj, key",
            "raise_for_loop_limit": "self, length",
            **_attributes("disabled_tags globals locals scope"),
        },
        subclass="LimitedRenderContext",
    ),
    Internals(
        LANGUAGE,
        "liquid.builtin",
        "the tags and filters of which the language of templates is a part",
        _attributes("content filters illegal output tags"),
    ),
    Internals(LANGUAGE, "liquid.builtin.tags.for_tag", "the loop that it extends", _attributes("ForNode")),
    Internals(
        LANGUAGE,
        "liquid.builtin.tags.for_tag:ForNode",
        "limits the values of a loop",
        {"render_to_output": "self, context, buffer", **_attributes("expression")},
        subclass="LoopNode",
    ),
    Internals(
        LANGUAGE,
        "liquid.builtin.output:OutputNode",
        "escapes values",
        {"render_to_output": "self, context, buffer", **_attributes("expression token")},
        subclass="ValueNode",
    ),
    Internals(
        LANGUAGE,
        "liquid:Tag",
        "gives errors a position",
        {"get_node": "self, stream", "parse": "self, stream"},
        subclass="TagWithPosition",
    ),
    Internals(LANGUAGE, "liquid.undefined", "the default of `get`", _attributes("UNDEFINED")),
    Internals(
        "delivery/templates/language/variables.py",
        "liquid.builtin.expressions",
        "finds the variables that a template uses",
        _attributes("FilteredExpression LoopExpression Path StringLiteral"),
    ),
    Internals(
        "delivery/templates/language/variables.py",
        "liquid.builtin.tags.assign_tag",
        "finds the variables that a template sets",
        _attributes("AssignNode"),
    ),
    Internals(
        "delivery/templates/language/variables.py",
        "liquid.builtin.tags.for_tag",
        "finds the variables of loops",
        _attributes("ForNode"),
    ),
    Internals(
        "delivery/templates/language/output_writer.py",
        "liquid.stringify",
        "writes values as Liquid does",
        {"to_liquid_string": "val, autoescape"},
    ),
)
"""The names of python-liquid."""

OTHERS = (
    Internals(
        "app/workers/mqtt_intake.py",
        "aiomqtt:Client",
        "acknowledges messages after they are stored, which only the client of paho offers",
        _attributes("_client"),
        subclass="MqttClient",
    ),
    Internals(
        "app/workers/mqtt_intake.py",
        "paho.mqtt.client:Client",
        "reads many messages from the socket at once; aiomqtt reads the same attribute",
        _attributes("_sock"),
    ),
    Internals(
        "rest_compat/routes.py",
        "starlette.routing",
        "compares a request only with the routes of its number of segments",
        _attributes("Match"),
    ),
    Internals(
        "rest_compat/routes.py",
        "starlette.routing:Router",
        "compares a request only with the routes of its number of segments",
        {"app": "self, scope, receive, send"},
    ),
    Internals(
        "metrics.py",
        "prometheus_client.exposition",
        "selects the format of metrics by the Accept header",
        {"choose_encoder": "accept_header"},
    ),
)
"""The names of other libraries."""

INTERNALS = (*SERVER, *DATABASE, *GRAPHQL, *LIQUID, *OTHERS)
"""All lists. Before an upgrade of a library, read the changes of each owner."""

DOCUMENTED_CLASSES = frozenset(
    {
        *("aiomqtt:Client", "aiosqlite:Connection", "asyncpg:Connection", "sqlalchemy.pool:AsyncAdaptedQueuePool"),
    }
)
"""The owners whose names without an underscore are documented."""

DOCUMENTED_MODULES = frozenset(
    {
        *("aiomqtt", "aiosmtplib", "aiosqlite", "alembic", "argon2", "argon2.exceptions", "asyncpg", "babel"),
        *(
            "babel.core",
            "babel.dates",
            "babel.languages",
            "babel.numbers",
            "babel.units",
            "charset_normalizer",
            "css_inline",
            "defusedxml.common",
            "h11",
            "hiredis",
            "httptools",
            "idna",
            "iso4217",
            "jwt",
        ),
        *("defusedxml.ElementTree", "defusedxml.common"),
        *("cryptography.exceptions", "cryptography.hazmat.primitives.asymmetric", "cryptography.x509"),
        *("cryptography.hazmat.primitives.asymmetric.rsa", "cryptography.hazmat.primitives.asymmetric.utils"),
        *("cryptography.hazmat.primitives.ciphers.aead", "cryptography.hazmat.primitives.hashes"),
        *("cryptography.hazmat.primitives.kdf.hkdf", "cryptography.hazmat.primitives.serialization"),
        *("graphql", "graphql.execution", "graphql.utilities", "jwt.types", "liquid", "liquid.exceptions"),
        *("msgspec", "msgspec.structs", "numpy", "numpy.typing", "opentelemetry", "opentelemetry.context"),
        *("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk.resources"),
        *("opentelemetry.sdk.trace", "opentelemetry.sdk.trace.export", "opentelemetry.sdk.trace.id_generator"),
        *("opentelemetry.semconv.attributes", "opentelemetry.trace", "opentelemetry.trace.propagation.tracecontext"),
        *("orjson", "paho.mqtt.client", "prometheus_client", "prometheus_client.multiprocess", "pyarrow"),
        *("pyarrow.compute", "pydantic", "pydantic_core", "pydantic_settings", "pyotp", "redis.exceptions"),
        *("rich.console", "rich.markup", "rich.progress", "rich.table", "rich.text", "segno", "sqlalchemy"),
        *("sqlalchemy.dialects", "sqlalchemy.dialects.postgresql", "sqlalchemy.engine", "sqlalchemy.exc"),
        *("sqlalchemy.ext.asyncio", "sqlalchemy.ext.compiler", "sqlalchemy.orm", "sqlalchemy.pool", "sqlalchemy.sql"),
        *("sqlalchemy.sql.functions", "sqlalchemy.types"),
        *("sqlmodel", "starlette.applications", "starlette.convertors", "starlette.datastructures"),
        *("starlette.exceptions", "starlette.middleware", "starlette.requests", "starlette.responses"),
        *("starlette.routing", "starlette.staticfiles", "starlette.types", "starlette.websockets", "strawberry"),
        *("strawberry.dataloader", "strawberry.schema.config", "strawberry.schema_directive", "strawberry.tools"),
        *("strawberry.types", "tinycss2", "tinycss2.ast", "typer", "typer.core", "uvicorn"),
        *(
            "websockets.asyncio.client",
            "websockets.exceptions",
            "websockets.frames",
            "websockets.http11",
            "websockets.protocol",
        ),
        "websockets.typing",
    }
)
"""The modules whose names the documentation of their library lists."""

UNDOCUMENTED_NAMES = frozenset({"starlette.routing.Match"})
"""Names of documented modules that the documentation does not list."""

"""The private and undocumented names of uvicorn and websockets on which the server of the gateway depends.

The documentation of uvicorn covers its settings and its command line. Its protocol classes are internal. The gateway
extends them, so that a plain request and a socket cost no ASGI messages. `tests/app/test_server_internals.py` compares
this list with the code of the gateway and with the installed versions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ATTRIBUTE = ""
"""The parameters of a name that is no function."""


@dataclass(frozen=True, slots=True)
class Internals:
    """The names that a class of the gateway takes from its base class, or a module from another one.

    `names` has the parameters of each function, without types and defaults, and ATTRIBUTE for other names.
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

INTERNALS = (
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
        "waits for a client that reads slowly",
        {"pause_reading": "self", "drain": "self", **_attributes("read_paused write_paused")},
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
        _attributes("connections default_headers tasks"),
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
"""The list. Before an upgrade of uvicorn or websockets, read the changes of each owner."""

PUBLIC_MODULES = frozenset(
    {
        *("uvicorn", "websockets.asyncio.client", "websockets.exceptions", "websockets.frames", "websockets.http11"),
        *("websockets.protocol", "websockets.typing"),
    }
)
"""The modules whose names the documentation of uvicorn and websockets lists."""

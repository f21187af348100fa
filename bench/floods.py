"""Floods: cheap requests that a single client repeats to make other callers wait.

Each is one kind of request, the number of connections that repeat it, and the number of addresses that they come from.
Floods with a token belong to an account of their own application, so that one flood does not use up the budget of
another one.
"""

import base64
import gzip
from collections.abc import Callable
from dataclasses import dataclass

import orjson
import pyarrow

HOST = "Host: 127.0.0.1\r\n"
AUDIENCE, ALERT_TYPE = "flood", "FLOOD"
LINES_OF_UPLOAD = 100_000
ROWS_OF_ARROW = 50_000
LINES_OF_FILE = 4_000
BYTES_OF_BLANK_LINES = 100_000_000
ALERTS = 200_000


@dataclass(frozen=True)
class Attacker:
    """The credentials of a flood: an account of the attacked gateway, a template editor, and their application."""

    application_id: str
    token: str
    editor_token: str
    username: str
    password: str
    resource_id: str
    application_name: str
    """The username of the application, whose secret is the password."""
    directory_id: str
    issuer: str
    """The issuer of the directory, a provider that answers late."""
    push_user_id: str
    """The user to whom pushes go."""


BytesOf = Callable[[Attacker, int], bytes]
"""Return the bytes that a connection sends each time. The number differs for each request of a run."""


@dataclass(frozen=True)
class Flood:
    """A kind of cheap request.

    Without a response, the connection closes after each sending; with an `opening`, it stays open and nobody reads. The
    opening is what a connection sends first. Its response, if `opens` is true, is read.
    """

    name: str
    connections: int
    request: BytesOf
    addresses: int = 1
    has_response: bool = True
    rounds: int | None = None
    """How often each connection sends it. None means until the time is over."""
    opening: BytesOf | None = None
    opens: bool = True
    alerts: int = 0
    """The number of alerts that the account has before the flood."""


def _post(path: str, body: bytes, media: str, headers: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\n{HOST}Content-Type: {media}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    ).encode() + body


def _get(path: str, headers: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\n{HOST}{headers}\r\n".encode()


def _graphql(document: str, headers: str = "", **variables: object) -> bytes:
    body = orjson.dumps({"query": document, "variables": variables})
    return _post("/graphql", body, "application/json", headers)


def _token(attacker: Attacker) -> str:
    return f"token: {attacker.token}\r\n"


def _constant(build: Callable[[Attacker], bytes]) -> BytesOf:
    """Build the bytes of a request once for an attacker, because a flood must cost its client nothing."""
    built: dict[str, bytes] = {}

    def request(attacker: Attacker, number: int) -> bytes:
        if attacker.token not in built:
            built[attacker.token] = build(attacker)
        return built[attacker.token]

    return request


def _numbered(build: Callable[[Attacker], bytes]) -> BytesOf:
    """Build the bytes once, and put the number in the place of its digits, so that no cache knows the document."""
    constant = _constant(build)
    return lambda attacker, number: constant(attacker, number).replace(DIGITS, b"%08d" % number, 1)


DIGITS = b"00000000"


def _unknown_members(attacker: Attacker) -> bytes:
    members = " ".join(f"a{n}: 1" for n in range(600))
    return _graphql(
        (f"mutation M00000000 {{ createDevice(input: {{{members}}}) {{ ... on Device {{ id }} }} }}"), _token(attacker)
    )


FIELDS = (
    "id resourceId resourceTypeId ownerId name description label classifier baseUnit dataSourceType"
    " dataSourceResourceTypeInfo dataSourceUnitInfo meterPointNumber costOf active createdAt"
)


def _fragments(count: int) -> str:
    """Return a document of some fragments with 16 fields each. With 7, it is one of the longest short documents."""
    spreads = " ".join(f"...F{n}" for n in range(count))
    fragments = " ".join(f"fragment F{n} on Resource {{ {FIELDS} }}" for n in range(count))
    query = f"query Q00000000 {{ viewer {{ resources(first: 1) {{ edges {{ node {{ {spreads} }} }} }} }} }}"
    return f"{query} {fragments}"


def _anonymous_document(attacker: Attacker) -> bytes:
    return _graphql("query Q00000000 { viewer { a b c } }")


def _largest_query(attacker: Attacker) -> bytes:
    fields = " ".join(f"a{n}: resources(first: 100) {{ edges {{ node {{ id name }} }} }}" for n in range(10))
    return _graphql(f"{{ viewer {{ {fields} }} }}", _token(attacker))


def _upload(body: bytes) -> BytesOf:
    return _constant(lambda attacker: _post("/api/v0-1/readings", body, "application/x-ndjson", _token(attacker)))


def _arrow_off_the_grid(attacker: Attacker) -> bytes:
    count = ROWS_OF_ARROW
    instants = pyarrow.array([1_700_000_000_001 + 7 * n for n in range(count)], pyarrow.timestamp("ms", "UTC"))
    table = pyarrow.table(
        {
            "resourceId": pyarrow.array([attacker.resource_id] * count).dictionary_encode(),
            "timestamp": instants,
            "value": pyarrow.array([1.0] * count, pyarrow.float64()),
        }
    )
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    body = sink.getvalue().to_pybytes()
    return _post("/api/v0-1/readings", body, "application/vnd.apache.arrow.stream", _token(attacker))


def _log_in(attacker: Attacker, number: int) -> bytes:
    document = (
        "mutation($a: ID!, $u: String!) { authenticate(applicationId: $a, username: $u, password: %s) {"
        " ... on Login { token } } }"
    )
    return _graphql(document % '"not the password"', a=attacker.application_id, u=f"nobody{number}@example.org")


def _register(attacker: Attacker, number: int) -> bytes:
    document = (
        "mutation($a: ID!, $u: String!) {"
        ' register(applicationId: $a, name: "N", username: $u, email: $u, password: "a long pass phrase") {'
        " ... on User { id } } }"
    )
    return _graphql(document, a=attacker.application_id, u=f"flood{number}@example.org")


def _pair(attacker: Attacker, number: int) -> bytes:
    document = "mutation($a: ID!) { startDisplayPairing(applicationId: $a) { ... on DisplayPairing { userCode } } }"
    return _graphql(document, a=attacker.application_id)


def _preview(attacker: Attacker) -> bytes:
    template = "{% for n in (1..300) %}<p>{{ n }} 00000000</p>{% endfor %}"
    document = "query($i: TemplateToPreview!) { previewTemplate(input: $i) { html } }"
    return _graphql(document, f"token: {attacker.editor_token}\r\n", i={"html": template, "data": {}})


def _basic(attacker: Attacker) -> bytes:
    pair = base64.b64encode(f"{attacker.username}:{attacker.password}".encode()).decode()
    headers = f"Authorization: Basic {pair}\r\napplicationId: {attacker.application_id}\r\n"
    return _graphql("{ viewer { __typename } }", headers)


def _handshake(attacker: Attacker, number: int) -> bytes:
    key = base64.b64encode(number.to_bytes(16, "big")).decode()
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    return _get("/graphql", f"{upgrade}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n")


def _open_message(attacker: Attacker, number: int) -> bytes:
    """Open a WebSocket, and begin a message of several fragments."""
    return _handshake(attacker, number) + EMPTY_TEXT


EMPTY_TEXT, EMPTY_FRAGMENT, PING = (bytes((first, 0x80, 0, 0, 0, 0)) for first in (0x01, 0x00, 0x89))
"""Frames of a client without content, masked with zeros: the begin of a message, its continuation, a ping."""

FRAMES_OF_PIECE = 500


def _ask_for_reset(attacker: Attacker, number: int) -> bytes:
    document = "mutation($a: ID!, $u: String!) { requestPasswordReset(applicationId: $a, username: $u) { __typename } }"
    return _graphql(document, a=attacker.application_id, u=f"nobody{number}@example.org")


def _ask_for_verification(attacker: Attacker, number: int) -> bytes:
    document = (
        "mutation($a: ID!, $u: String!) {"
        ' requestVerification(applicationId: $a, username: $u, password: "a long pass phrase") { __typename } }'
    )
    return _graphql(document, a=attacker.application_id, u=f"nobody{number}@example.org")


def _log_in_with_token(attacker: Attacker, number: int) -> bytes:
    """Log in with a token of the slow provider, whose keys the gateway does not have."""
    document = (
        "mutation($a: ID!, $d: ID!, $t: String!) {"
        " authenticate(applicationId: $a, directoryId: $d, directoryToken: $t) { ... on Login { token } } }"
    )
    claims = {"iss": attacker.issuer, "sub": str(number), "aud": AUDIENCE, "iat": 2**31, "exp": 2**32}
    parts = (orjson.dumps({"alg": "RS256", "kid": "1"}), orjson.dumps(claims), bytes(256))
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return _graphql(document, a=attacker.application_id, d=attacker.directory_id, t=token)


def _send_alert(channel: str) -> BytesOf:
    """Send an alert to the user of pushes. The application also has a slow receiver of webhooks about alerts."""

    def request(attacker: Attacker) -> bytes:
        pair = base64.b64encode(f"{attacker.application_name}:{attacker.password}".encode()).decode()
        document = "mutation($i: NewAlert!) { sendAlert(input: $i) { ... on Alert { alertId } } }"
        values = {"userId": attacker.push_user_id, "alertTypeId": ALERT_TYPE, "channels": [channel], "priority": "LOW"}
        return _graphql(document, f"Authorization: Basic {pair}\r\n", i=values)

    return _constant(request)


def _exchange_code(attacker: Attacker, number: int) -> bytes:
    document = (
        'mutation($c: String!) { grantOauthTokens(clientId: $c, grantType: "authorization_code", code: $c,'
        ' codeVerifier: "v", redirectUri: "https://app.example/") { ... on OAuthTokens { tokenType } } }'
    )
    return _graphql(document, c=f"client{number}")


def _claim_pairing(attacker: Attacker, number: int) -> bytes:
    document = (
        "mutation($a: ID!, $d: String!) { claimDisplayPairing(applicationId: $a, deviceCode: $d) {"
        " ... on DisplayPairingClaim { state } } }"
    )
    return _graphql(document, a=attacker.application_id, d=f"device code {number}")


def _export(attacker: Attacker) -> bytes:
    return _graphql("mutation { exportMyData { ... on DataExport { state } } }", _token(attacker))


def _inspect(attacker: Attacker) -> bytes:
    """Return a request to inspect a table whose dates, marks and columns may be read in hundreds of ways."""
    row = "0%d/0%d/24;00:30;1,234;1,222;1,111;1,223;2,223\n"
    table = "date;time;kw;kwh;w;wh;mwh\n" + "".join(row % (n % 9 + 1, n % 8 + 1) for n in range(LINES_OF_FILE))
    path = f"/api/v0-1/reading-files/inspect?resourceId={attacker.resource_id}"
    return _post(path, table.encode(), "text/csv", _token(attacker))


def _blank_lines(attacker: Attacker) -> bytes:
    """Return a request to import a small file that has a hundred million blank lines when it is unpacked."""
    path = f"/api/v0-1/reading-files/import?resourceId={attacker.resource_id}&profile=wattgate"
    header = b"resourceId,at,value\n" + f"{attacker.resource_id},2026-01-01T00:00:00Z,1\n".encode()
    packed = gzip.compress(header + b"\n" * BYTES_OF_BLANK_LINES)
    return _post(path, packed, "application/gzip", _token(attacker))


def _unmatched_alerts(selection: str) -> BytesOf:
    """Return a request for lists whose filter fits no alert, so that the database reads all alerts of the account."""
    instants = [f"2100-01-01T00:00:{n:02}Z" for n in range(10)]
    lists = " ".join(
        f'a{n}: alerts(first: 1, filter: {{since: "{instants[n]}", unread: false}}) {{ {selection} }}'
        for n in range(10)
    )
    return _constant(lambda attacker: _graphql(f"{{ viewer {{ {lists} }} }}", _token(attacker)))


def _pieces_of_head(attacker: Attacker) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Forwarded-For: 192.0.2.1\r\n" * 30_000 + b"\r\n"


FLOODS = (
    Flood("openapi.json", 16, _constant(lambda attacker: _get("/api/v0-1/openapi.json"))),
    Flood("openapi.json from 64 addresses", 64, _constant(lambda attacker: _get("/api/v0-1/openapi.json")), 64),
    Flood("a static page", 16, _constant(lambda attacker: _get("/display"))),
    Flood("unknown shared previews", 16, lambda attacker, number: _get(f"/preview/shared/{number}")),
    Flood("documents with 600 unknown members", 8, _numbered(_unknown_members)),
    Flood("documents of 59 fragments with 16 fields", 8, _numbered(lambda it: _graphql(_fragments(59), _token(it)))),
    Flood("short documents of 7 fragments", 8, _numbered(lambda it: _graphql(_fragments(7), _token(it)))),
    Flood("anonymous fragments from 64 addresses", 64, _numbered(lambda it: _graphql(_fragments(59))), 64),
    Flood("the largest query", 8, _constant(_largest_query)),
    Flood("anonymous documents from 64 addresses", 64, _numbered(_anonymous_document), 64),
    Flood("NDJSON of wrong lines", 4, _upload(b'{"resource": "x", "at": "y"}\n' * LINES_OF_UPLOAD)),
    Flood("NDJSON of empty lines", 4, _upload(b"\n" * (10 * LINES_OF_UPLOAD))),
    Flood("Arrow with instants off the grid", 4, _constant(_arrow_off_the_grid)),
    Flood("60 log-ins once", 60, _log_in, rounds=1),
    Flood("log-ins from 64 addresses", 64, _log_in, 64),
    Flood("registrations from 64 addresses", 64, _register, 64),
    Flood("pairings from 64 addresses", 64, _pair, 64),
    Flood("Basic with a password", 8, _constant(_basic)),
    Flood("previews of a template", 8, _numbered(_preview)),
    Flood("heads of 840,000 bytes", 8, _constant(_pieces_of_head)),
    Flood(
        "a cookie of 14,000 quotes",
        8,
        _constant(lambda attacker: _get("/", 'Cookie: wattgate_device="' + '\\"' * 14_000 + '"\r\n')),
    ),
    Flood("handshakes", 32, _handshake, has_response=False),
    Flood(
        "empty fragments without a log-in",
        16,
        lambda attacker, number: EMPTY_FRAGMENT * FRAMES_OF_PIECE,
        has_response=False,
        opening=_open_message,
    ),
    Flood(
        "pings without a log-in",
        16,
        lambda attacker, number: PING * FRAMES_OF_PIECE,
        has_response=False,
        opening=_handshake,
    ),
    Flood(
        "pipelined requests that nobody reads",
        16,
        _constant(lambda attacker: _graphql("{ viewer { __typename } }", _token(attacker)) * 20),
        has_response=False,
        opening=lambda attacker, number: b"",
        opens=False,
    ),
    Flood("password resets from 64 addresses", 64, _ask_for_reset, 64),
    Flood("verifications from 64 addresses", 64, _ask_for_verification, 64),
    Flood("OAuth codes from 64 addresses", 64, _exchange_code, 64),
    Flood("device codes from 64 addresses", 64, _claim_pairing, 64),
    Flood("log-ins by a slow provider", 16, _log_in_with_token),
    Flood("log-ins by a slow provider from 64 addresses", 64, _log_in_with_token, 64),
    Flood("alerts for a slow webhook receiver", 16, _send_alert("INBOX")),
    Flood("alerts for a slow push service", 16, _send_alert("PUSH")),
    Flood("inspections of a table", 8, _constant(_inspect)),
    Flood("files of blank lines", 8, _constant(_blank_lines)),
    Flood("filtered lists of 200,000 alerts", 8, _unmatched_alerts("edges { node { id } }"), alerts=ALERTS),
    Flood("counts of 200,000 alerts", 8, _unmatched_alerts("totalCount"), alerts=ALERTS),
    Flood("exports of an account", 8, _constant(_export)),
    Flood("connections", 32, lambda attacker, number: b"", has_response=False),
)

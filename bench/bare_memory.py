"""The floor of the benchmark in memory: a server that knows its four documents and answers them by hand.

It parses HTTP with uvicorn's parser, looks up the token, and builds each response from the same rows with plain code.
It has no GraphQL, no permissions, no limits, no metrics and no other headers. It listens on $PORT.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import httptools
import msgspec
import uvloop

from bench.sample import DEFAULT_FIRST, HELLO, HOME, READINGS, TREE, load_sample

Row = Mapping[str, Any]

SAMPLE = load_sample()
TOKENS: Mapping[str, str] = SAMPLE["tokens"]
TYPES = {one["id"]: one for one in SAMPLE["types"]}
TARIFFS = {one["resourceId"]: one for one in SAMPLE["tariffs"]}
READINGS_BY_RESOURCE: Mapping[str, list[Row]] = SAMPLE["readings"]
HOMES = {one["id"]: one for one in SAMPLE["homes"]}
RESOURCES: dict[str, list[Row]] = defaultdict(list)
for one in SAMPLE["resources"]:
    RESOURCES[one["homeId"]].append(one)


class Request(msgspec.Struct):
    """The body of a request."""

    query: str
    variables: dict[str, str] = {}


DECODER, ENCODER = msgspec.json.Decoder(Request), msgspec.json.Encoder()


def hello(variables: Mapping[str, str]) -> dict[str, Any]:
    return {"hello": "hello"}


def home(variables: Mapping[str, str]) -> dict[str, Any]:
    row = HOMES[variables["id"]]
    return {
        "home": {
            "id": row["id"],
            "name": row["name"],
            "city": row["city"],
            "timeZone": row["timeZone"],
            "resources": [resource_of_home(resource) for resource in RESOURCES[row["id"]]],
        }
    }


def resource_of_home(row: Row) -> dict[str, Any]:
    kind, current, tariff = TYPES[row["typeId"]], READINGS_BY_RESOURCE[row["id"]][-1], TARIFFS[row["id"]]
    return {
        "id": row["id"],
        "name": row["name"],
        "classifier": row["classifier"],
        "unit": row["unit"],
        "type": {"name": kind["name"], "label": kind["label"]},
        "current": {"at": current["at"], "value": current["value"]},
        "tariff": {"name": tariff["name"], "rate": tariff["rate"]},
    }


def readings(variables: Mapping[str, str]) -> dict[str, Any]:
    return {"readings": [reading_of(row) for row in READINGS_BY_RESOURCE[variables["id"]]]}


def reading_of(row: Row) -> dict[str, Any]:
    return {"at": row["at"], "value": row["value"], "unit": row["unit"], "estimated": row["estimated"]}


def tree(variables: Mapping[str, str]) -> dict[str, Any]:
    return {
        "homes": [
            {
                "id": row["id"],
                "name": row["name"],
                "resources": [
                    {
                        "id": resource["id"],
                        "name": resource["name"],
                        "readings": [
                            reading_of(reading) for reading in READINGS_BY_RESOURCE[resource["id"]][:DEFAULT_FIRST]
                        ],
                    }
                    for resource in RESOURCES[row["id"]]
                ],
            }
            for row in HOMES.values()
        ]
    }


ANSWERS: Mapping[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
    HELLO: hello,
    HOME: home,
    READINGS: readings,
    TREE: tree,
}


class BareServer(asyncio.Protocol):
    """A connection whose requests are answered as soon as they are complete."""

    transport: Any  # uvloop's transports are not subclasses of asyncio's

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)
        self.token, self.body = "", b""

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.token, self.body = "", b""

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"token":
            self.token = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        status, content = "200 OK", b""
        if self.token in TOKENS:
            request = DECODER.decode(self.body)
            content = ENCODER.encode({"data": ANSWERS[request.query](request.variables)})
        else:
            status = "401 Unauthorized"
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        self.transport.write(head.encode() + content)


async def serve() -> None:
    """Serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(BareServer, "127.0.0.1", int(os.environ["PORT"]))
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())

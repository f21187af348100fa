"""The client of a flood, in a process of its own: threads that repeat a request on connections of their own."""

import http.client
import itertools
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.floods import FLOODS, Attacker, Flood

TIMEOUT_SECONDS = 30.0
"""The timeout of a response. The flood has ended before."""


@dataclass(frozen=True)
class FloodTask:
    """A flood for the client's process: its position in FLOODS, the port, and the core that the process uses."""

    position: int
    port: int
    seconds: float
    attacker: Attacker
    cores: set[int]


def run_flood(task: FloodTask, started: Any, counts: Any) -> None:
    """Flood a gateway for some seconds, from the event `started` on. Put the answers by status in `counts`."""
    os.sched_setaffinity(0, task.cores)
    flood, numbers, answers = FLOODS[task.position], itertools.count(), Counter[int]()
    flood.request(task.attacker, 0)  # large requests are built before the clock starts
    until = time.monotonic() + task.seconds
    threads = [
        threading.Thread(target=_repeat, args=(flood, task, _address(task.position, n, flood), numbers, until, answers))
        for n in range(flood.connections)
    ]
    started.set()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.put(dict(answers))


def _address(position: int, connection: int, flood: Flood) -> str:
    """Return the loopback address of a connection. No two floods share one, because limits count by address."""
    return f"127.{100 + position}.0.{1 + connection % flood.addresses}"


def _repeat(
    flood: Flood, task: FloodTask, address: str, numbers: Iterator[int], until: float, answers: Counter[int]
) -> None:
    connection: socket.socket | None = None
    for _ in itertools.repeat(None) if flood.rounds is None else range(flood.rounds):
        if time.monotonic() >= until:
            break
        try:
            connection = connection or _open(flood, task, address, numbers, until)
            connection.sendall(flood.request(task.attacker, next(numbers)))
            status, keep = _read_answer(connection) if flood.has_response else (0, flood.opening is not None)
        except (OSError, http.client.HTTPException):
            status, keep = -1, False
        answers[status] += 1
        if connection is not None and not keep:
            connection.close()
            connection = None
    if connection is not None:
        connection.close()


def _open(flood: Flood, task: FloodTask, address: str, numbers: Iterator[int], until: float) -> socket.socket:
    """Open a connection. One that is not read waits to send at most until the end of the flood."""
    connection = _connect(task.port, address)
    if flood.opening is not None:
        connection.sendall(flood.opening(task.attacker, next(numbers)))
        if flood.opens:
            _read_answer(connection)
        connection.settimeout(max(0.01, until - time.monotonic()))
    return connection


def _connect(port: int, address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS, source_address=(address, 0))


def _read_answer(connection: socket.socket) -> tuple[int, bool]:
    """Read one response. Return its status, and whether the connection can be used again."""
    response = http.client.HTTPResponse(connection)
    try:
        response.begin()
        response.read()
        return response.status, not response.will_close
    finally:
        response.close()

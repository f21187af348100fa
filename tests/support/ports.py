"""Ports for servers that start later, or again."""

import socket
from random import SystemRandom

PORTS = range(20_000, 32_000)
"""Systems take the ports of outbound connections from above these, so none of them takes the port meanwhile."""


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    while True:
        port = SystemRandom().choice(PORTS)  # the other generator has the same seed in each worker of the suite
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port

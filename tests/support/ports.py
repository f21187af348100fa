"""Ports for servers that start later, or again."""

import socket
from random import SystemRandom

PORTS = range(20_000, 32_000)
"""Systems take the ports of outbound connections from above these, so none of them takes the port meanwhile."""

BUS_PORT_OFFSET = 10_000
"""A node of a Redis Cluster also listens on a port that is higher by this number."""


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    while True:
        port = SystemRandom().choice(PORTS)  # the other generator has the same seed in each worker of the suite
        if _is_free(port):
            return port


def free_cluster_port() -> int:
    """Return a port for a node of a Redis Cluster: nothing listens on it, nor on that of its cluster bus."""
    while True:
        port = SystemRandom().choice(range(PORTS.start, PORTS.stop - BUS_PORT_OFFSET))
        if _is_free(port) and _is_free(port + BUS_PORT_OFFSET):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

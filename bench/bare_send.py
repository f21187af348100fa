"""The least that telling many can cost: as many bytes as a reading has, sent to each socket, and nothing else.

Listens on $PORT for as many connections as its first argument says, each of which sends a byte; and then sends as many
messages to each as its second says.
"""

import os
import socket
import sys
import time

MESSAGE = bytes(190)
INTERVAL_SECONDS = 0.02
START_DELAY_SECONDS = 1.0
"""Seconds before it begins."""


def main() -> None:
    """Send the events to all."""
    with socket.create_server(("127.0.0.1", int(os.environ["PORT"])), backlog=1024) as server:
        peers: list[socket.socket] = []
        count, events = map(int, sys.argv[1:])
        while len(peers) < count:
            peer, _ = server.accept()
            if peer.recv(1):
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                peers.append(peer)
        time.sleep(START_DELAY_SECONDS)
        sends = [peer.send for peer in peers]
        for _ in range(events):
            due = time.monotonic() + INTERVAL_SECONDS
            for send in sends:
                send(MESSAGE)
            time.sleep(max(0.0, due - time.monotonic()))
        server.accept()  # until it is killed, so that what it has used can be read


if __name__ == "__main__":
    main()

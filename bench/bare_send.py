"""The floor of the cost of a broadcast: send the bytes of a reading to each socket, and do nothing else.

The server listens on $PORT until the number of connections in its first argument have each sent a byte. Then it sends
the number of messages in its second argument to each of them.
"""

import os
import socket
import sys
import time

MESSAGE = bytes(190)
INTERVAL_SECONDS = 0.02
START_DELAY_SECONDS = 1.0
"""The time between the last connection and the first message."""


def main() -> None:
    """Accept the connections and send the messages."""
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
        server.accept()  # wait to be killed, so that the caller can read the processor time


if __name__ == "__main__":
    main()

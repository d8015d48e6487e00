"""Ports for servers that a test starts and starts again."""

import random
import socket
from itertools import islice
from pathlib import Path

FIRST = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Different free ports that the kernel gives to no outgoing connection.

    `bind` to port 0 would choose a port that it does give: a client can get it before the server listens on it.
    """
    last = _first_ephemeral()
    candidates = random.SystemRandom().sample(range(FIRST, last), 1000)
    found = list(islice(filter(_is_free, candidates), count))
    if len(found) < count:
        raise OSError(f"no {count} free ports between {FIRST} and {last}")
    return found


def free_port() -> int:
    return free_ports(1)[0]


def _first_ephemeral() -> int:
    try:
        return max(FIRST + 1000, int(_EPHEMERAL.read_text(encoding="ascii").split()[0]))
    except FileNotFoundError:  # not Linux: the range of IANA
        return 49_152


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

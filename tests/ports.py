"""Ports for servers that a test starts and starts again."""

import random
import socket
from pathlib import Path

FIRST = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Different free ports that the kernel gives to no outgoing connection.

    A port from `bind` to port 0 is one of those: until the server listens on it, a client can get it.
    """
    found: list[int] = []
    candidates = random.SystemRandom().sample(range(FIRST, _first_ephemeral()), 1000)
    for port in candidates:
        if len(found) == count:
            return found
        if _is_free(port):
            found.append(port)
    raise OSError(f"no {count} free ports between {FIRST} and {_first_ephemeral()}")


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

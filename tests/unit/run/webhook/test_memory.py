"""Clients that hold back the end of large reviews: what they cost the webhook, measured in a process of its own."""

import asyncio
import json
import ssl
import subprocess
import sys
import textwrap
from pathlib import Path

import aiohttp
import pytest

from hypot.run.webhook.admission import LARGEST_BODY
from unit.run.webhook.admission_world import pod, request

STATUS = Path("/proc/self/status")
CLIENTS = 120
MOST_MEGABYTES = 50
SERVER = """
    import asyncio, gc, sys, time
    from hypot.serving.certificates import issue
    from hypot.run.webhook.server import Webhook
    from hypot.serving.certificate_holder import CertificateHolder

    async def main():
        issued = issue(["127.0.0.1"], time.time())
        webhook = Webhook(lambda pod, namespace: None, lambda namespace: ())
        await webhook.start("127.0.0.1", 0, CertificateHolder(issued))
        # As in the controller, which collects garbage seldom.
        gc.disable()
        print(webhook.port, issued.ca_pem.encode().hex(), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await webhook.stop()

    asyncio.run(main())
"""


def megabytes(pid, what):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1000


async def hold(port, trust):
    """Send all but the last byte of the largest review, and wait for the end."""
    part = b" " * 2**16
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        writer.write(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % LARGEST_BODY)
        for sent in range(0, LARGEST_BODY, len(part)):
            writer.write(part[: LARGEST_BODY - 1 - sent])
            await writer.drain()
        await reader.read()
        writer.close()
    except OSError:
        pass


async def reviewed(port, trust):
    """A review from another address, as from the API server."""
    connector = aiohttp.TCPConnector(ssl=trust, local_addr=("127.0.0.2", 0))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://127.0.0.1:{port}/mutate", data=json.dumps(request(pod()))) as answer,
    ):
        return answer.status


async def growth(pid, port, trust):
    """By how much the memory grows at most, while other reviews are answered."""
    assert await reviewed(port, trust) == 200
    before = megabytes(pid, "VmRSS:")
    async with asyncio.TaskGroup() as group:
        holding = [group.create_task(hold(port, trust)) for _ in range(CLIENTS)]
        while not all(task.done() for task in holding):
            assert await reviewed(port, trust) == 200
            await asyncio.sleep(0.2)
    return megabytes(pid, "VmHWM:") - before


@pytest.mark.skipif(not STATUS.exists(), reason="the memory of a process is read from /proc")
def test_reviews_that_are_held_back_cost_little():
    """Each may have 3 MiB, and all of them together only a part of the pod's memory; others are answered."""
    command = [sys.executable, "-c", textwrap.dedent(SERVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            port, authority = process.stdout.readline().split()
            trust = ssl.create_default_context(cadata=bytes.fromhex(authority).decode())
            assert asyncio.run(growth(process.pid, port, trust)) <= MOST_MEGABYTES
        finally:
            process.stdin.close()
            process.wait(60)

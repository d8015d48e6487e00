"""The autoscalers of bench/metrics.py, in a process of their own: they ask for one list, at a steady rate, over TLS.

    python bench/metrics_client.py PORT PATH CA CERTIFICATE REQUESTS PER_SECOND

It prints the seconds from when each request was due until its whole answer was there, and the bytes of the last one.
"""

import asyncio
import json
import ssl
import sys
import time

CONNECTIONS = 16
USER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"


async def connected(port, tls):
    return await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname="", limit=2**20)


async def answered(reader, writer, path):
    """The body of one answer."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nX-Remote-User: {USER}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return await reader.readexactly(int(length.split(b":")[1]))


async def asked(port, path, tls, requests, per_second):
    free = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await connected(port, tls))
    waits, sizes, began = [], [], time.perf_counter()

    async def ask(due):
        connection = await free.get()
        sizes.append(len(await answered(*connection, path)))
        waits.append(time.perf_counter() - due)
        free.put_nowait(connection)

    async with asyncio.TaskGroup() as tasks:
        for i in range(requests):
            due = began + i / per_second
            await asyncio.sleep(max(due - time.perf_counter(), 0.0))
            tasks.create_task(ask(due))
    return waits, sizes[-1]


def main(port, path, authority, certificate, requests, per_second):
    tls = ssl.create_default_context(cafile=authority)
    tls.check_hostname = False
    tls.load_cert_chain(certificate)
    waits, size = asyncio.run(asked(int(port), path, tls, int(requests), int(per_second)))
    print(json.dumps({"waits": waits, "size": size}))


if __name__ == "__main__":
    main(*sys.argv[1:])

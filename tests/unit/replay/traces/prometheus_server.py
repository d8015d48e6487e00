"""A real Prometheus server for tests, with given samples in it."""

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ports import free_port

MISSING = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
needs_prometheus = pytest.mark.skipif(
    bool(MISSING), reason=f"{' and '.join(MISSING)} not installed (Debian: prometheus)"
)
READY_WITHIN = 120.0


@contextmanager
def serving(folder: Path, openmetrics: str, lookback: int, config: str = "") -> Iterator[str]:
    """The address of the server, while it runs. Without samples it only has what it scrapes itself."""
    (folder / "samples.txt").write_text(openmetrics, encoding="utf-8")
    (folder / "prometheus.yml").write_text(config, encoding="utf-8")
    if openmetrics:
        blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "samples.txt", "data"]
        subprocess.run(blocks, cwd=folder, check=True, capture_output=True, timeout=600)
    address = f"127.0.0.1:{free_port()}"
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [  # noqa: S607  looked up above
                "prometheus",
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--storage.tsdb.retention.time=100y",
                f"--query.lookback-delta={lookback}s",
                f"--web.listen-address={address}",
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        try:
            wait_until_ready(server, f"http://{address}/-/ready", folder / "log")
            yield f"http://{address}"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def wait_until_ready(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    """Wait up to a limit, and only while the server runs."""
    until = time.monotonic() + READY_WITHIN
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until and server.poll() is None:
        try:
            with opener.open(url, timeout=1):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    pytest.fail(f"prometheus did not get ready: {log.read_text(encoding='utf-8')[-2000:]}")

"""A real browser, spoken to through two pipes in its own debugging protocol: nothing else has to be installed."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--remote-debugging-pipe",
)
# The browser reads commands from file 3 and writes answers to file 4: the pipes are put there before it starts.
_START = """
import fcntl, os, sys
for given, wanted in [(fcntl.fcntl(int(n), fcntl.F_DUPFD, 10), i) for n, i in zip(sys.argv[1:3], (3, 4))]:
    os.dup2(given, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
_PATIENCE = 300.0
# After so many seconds a click or a move of the mouse is tried once more.
_AGAIN = 3.0


class Browser:
    """One page. What it asked the network for and what it complained about is kept."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._rest, self._last = commands, answers, b"", 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def attach(self) -> None:
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """The size of the window, and what its user likes."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        self.ask("Page.navigate", url=path.as_uri())
        self.until(f"document.readyState === 'complete' && location.href === {json.dumps(path.as_uri())}")

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def move(self, x: float, y: float) -> None:
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def double_click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased") * 2:
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def until(self, script: str, action: Callable[[], object] = lambda: None) -> None:
        """Ask again and again whether something is so, and do it again: a slow machine may have missed it."""
        end = time.monotonic() + _PATIENCE
        again = time.monotonic()
        while not self.run(script):
            if time.monotonic() >= again:
                action()
                again = time.monotonic() + _AGAIN
            if time.monotonic() > end:
                raise AssertionError(f"still not so: {script}")
            time.sleep(0.02)

    def picture(self) -> bytes:
        """The whole page, not only what the window shows."""
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._last, "method": method, "params": parameters, **session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self._heard(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _heard(self, event: dict[str, Any]) -> None:
        about, method = event.get("params", {}), event.get("method")
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in {"error", "warning", "assert"}:
            self.complaints.append(json.dumps(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(about["entry"]["text"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._answers], [], [], _PATIENCE)[0]:
                raise AssertionError("the browser does not answer")
            got = os.read(self._answers, 1 << 20)
            if not got:
                raise AssertionError("the browser is gone")
            self._rest += got
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Started, and ended again whatever happens."""
    assert CHROMIUM is not None
    reads, commands = os.pipe()
    answers, writes = os.pipe()
    started = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    arguments = [sys.executable, "-c", _START, str(reads), str(writes), *started]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(arguments, pass_fds=(reads, writes), stdin=quiet, stdout=quiet, stderr=quiet)
    os.close(reads)
    os.close(writes)
    try:
        made = Browser(commands, answers)
        made.attach()
        yield made
        made.ask("Browser.close")
        process.wait(_PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(commands)
        os.close(answers)

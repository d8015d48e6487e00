"""A control plane for each file, and a new namespace for each test that requests it."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.plane.api import Api
from cluster.plane.binaries import UnavailableError, ensure
from cluster.plane.controlplane import ControlPlane

_running: list[ControlPlane] = []
_failed: list[str] = []
_reported: list[str] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was compared with Kubernetes at the end of the run."""
    if _reported:
        terminalreporter.section("compared with Kubernetes")
        for line in _reported:
            terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of its own gives its lines to the one that prints them."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["reported"] = _reported


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process that crashed has no output."""
    found = getattr(node, "workeroutput", {}).get("reported", ())
    _reported.extend(line for line in found if line not in _reported)


@pytest.fixture(scope="session")
def report() -> Callable[[str], None]:
    """Add a line to the summary at the end of the run."""
    return _reported.append


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the binaries and Go, deselect the tests that need a control plane and say so; in CI that is an error."""
    needing = [item for item in items if "plane" in getattr(item, "fixturenames", ())]
    if not needing or config.option.collectonly:
        return
    try:
        ensure()
    except UnavailableError as error:
        if os.environ.get("CI"):
            raise pytest.UsageError(str(error)) from error
        _reported.append(f"nothing: {error}")
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if item not in needing]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failed test reports where the logs are, and keeps them."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and _running and "plane" in item.fixturenames:
        _failed.append(item.nodeid)
        report.sections.append(("control plane", f"logs are kept in {_running[0].folder}"))


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A running etcd and API server; its logs are kept if any test failed.

    It starts in five seconds, and what the tests of a file leave behind reaches no other file.
    """
    binaries = ensure()
    folder = Path(tempfile.mkdtemp(prefix="hypot-cluster-"))
    plane = ControlPlane(binaries, folder)
    plane.start()
    _running[:] = [plane]
    _failed.clear()
    try:
        yield plane
        plane.check()
    finally:
        plane.stop()
    if not _failed:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def api(plane: ControlPlane) -> Api:
    return plane.admin


@pytest.fixture
def namespace(api: Api) -> str:
    """A new namespace; it is deleted with the control plane."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name

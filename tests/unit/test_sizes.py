"""What `make sizes` installs, and what it prints."""

from pathlib import Path

import pytest
import sizes
from lock import extra_roots, extras, locked, normal
from sizes import Installed

from hypot.cli.extras import EXTRA_OF

ROOT = Path(__file__).resolve().parents[2]
BASE = {"PyYAML", "aiohttp", "click", "msgspec", "numpy", "structlog", "tzdata"}


@pytest.mark.parametrize(
    ("extra", "more"),
    [
        ("", set()),
        ("run", {"backports.zstd", "cryptography"}),
        ("dask", {"distributed", "plotly", "polars", "rich"}),
        (
            "all",
            {
                "backports.zstd",
                "cdk8s",
                "cryptography",
                "distributed",
                "matplotlib",
                "numba",
                "plotly",
                "polars",
                "rich",
            },
        ),
    ],
)
def test_what_an_extra_asks_for(extra, more):
    """Also what the extras that it includes ask for, and what hypot itself does."""
    assert set(extra_roots(extra)) == BASE | more


@pytest.mark.parametrize("extra", ["", *extras()])
def test_every_extra_is_locked(extra):
    """Each package that it brings has a version and hashes in one of the locks."""
    pins = locked(extra_roots(extra), "interop.lock")
    assert set(map(normal, extra_roots(extra))) <= {pin.name for pin in pins}
    assert all(pin.hashes for pin in pins)


def test_all_is_measured():
    """Hypot alone, and with each extra."""
    assert sizes.names() == ["hypot", *(f"hypot[{extra}]" for extra in extras())]
    assert set(EXTRA_OF.values()) | {"all"} == set(extras())


@pytest.mark.parametrize(
    ("size", "status", "shown"),
    [
        (109_940_000, 0, "hypot              109.9        17  (bar 110)"),
        (110_040_000, 1, "hypot              110.0        17  (bar 110, TOO LARGE)"),
    ],
)
def test_the_bar(monkeypatch, capsys, size, status, shown):
    """An installation above its bar fails; the others are printed too."""
    found = [Installed("hypot", size, 17), Installed("hypot[all]", 10**9, 64)]
    monkeypatch.setattr(sizes, "installed", lambda _: found)
    assert sizes.main([]) == status
    assert capsys.readouterr().out.splitlines() == [
        "                      MB  packages",
        shown,
        "hypot[all]        1000.0        64",
    ]


def test_an_unknown_extra():
    """All that there are is shown."""
    with pytest.raises(SystemExit, match=r"hypot\[runs\]: choose from hypot, hypot\[all\]"):
        sizes.main(["hypot", "hypot[runs]"])

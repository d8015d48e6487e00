"""The first lines of the log: what hypot decides for, and what it ignores."""

import pytest
from structlog.testing import capture_logs

from hypot.cluster.config import Access
from hypot.run.config import RunConfig
from hypot.run.report.scope import SEE_HPAS, WHY_NO_HPAS, log_scope

ACCESS = Access("https://10.0.0.1:6443", source="~/.kube/config, context here")


def lines(**config):
    with capture_logs() as logged:
        log_scope(RunConfig.from_dict(config), ACCESS)
    assert logged[0]["server"] == ACCESS.server
    assert logged[0]["credentials"] == ACCESS.source
    return {line["event"]: line for line in logged[1:]}


def test_by_default_hpas_and_vpas_are_ignored():
    """It says so, why, and how to see them."""
    found = lines()
    assert list(found) == ["acting on", "ignoring"]
    assert found["acting on"]["kinds"] == "WatermarkPodAutoscaler, Hvpa, Tortoise, Autoscaler"
    assert found["acting on"]["namespaces"].startswith("those with the label hypot.dev/scaling=enabled")
    assert set(found["ignoring"]["kinds"].split(", ")) == {"HorizontalPodAutoscaler", "VerticalPodAutoscaler"}
    assert (found["ignoring"]["why"], found["ignoring"]["todo"]) == (WHY_NO_HPAS, SEE_HPAS)


def test_hpas_that_are_seen_need_no_hint():
    """The other kinds are named, without advice about HPAs."""
    found = lines(kinds={"HorizontalPodAutoscaler": "observe"})
    assert found["observing only"] == {
        "event": "observing only",
        "kinds": "HorizontalPodAutoscaler",
        "namespaces": "all",
        "log_level": "info",
    }
    assert found["ignoring"] == {"event": "ignoring", "kinds": "VerticalPodAutoscaler", "log_level": "info"}


@pytest.mark.parametrize(
    ("config", "does", "namespaces"),
    [
        ({"optIn": "all"}, "acting on", "all"),
        ({"optIn": "all", "watchNamespaces": ["pay", "shop"]}, "acting on", "pay, shop"),
        (
            {"watchNamespaces": ["pay", "shop"]},
            "acting on",
            "pay, shop with the label hypot.dev/scaling=enabled; the others are only observed",
        ),
        ({"dryRun": True}, "deciding for, without writing", "all"),
    ],
)
def test_where(config, does, namespaces):
    """A label is needed only where something is written."""
    assert lines(**config)[does]["namespaces"] == namespaces

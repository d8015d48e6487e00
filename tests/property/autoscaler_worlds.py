"""Autoscalers that learn, for random worlds, and plain observations for what they learn with."""

from dataclasses import replace

from hypothesis import strategies as st

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.policy.model.settings import Settings
from hypot.replay.policies.policy import Policy
from property.picks import among, mostly
from property.replay_worlds import NAMES, Case, all_loads, starts, worlds

METRICS = ({}, {"requests_metric": "rate"}, {"requests_metric": "rate", "late_metric": "late"})
CONTAINERS = (
    None,
    None,
    ContainerPolicy("app", min_allowed={"cpu": "100m"}, max_allowed={"cpu": "2500m"}),
    ContainerPolicy("*", max_allowed={"cpu": "1700m"}),
    ContainerPolicy("app", min_allowed={"cpu": "1"}),
    ContainerPolicy("other", mode="Off"),
)
# The syncs of these are long, so that more than the first rule decides within a replay.
setups = st.builds(Settings, sync_period=st.sampled_from([15.0, 15.0, 30.0]))
given_metrics = st.sampled_from(METRICS)


@st.composite
def autoscalers(draw):
    """Any that an API server accepts."""
    least = draw(among(1, 1, 2, 3))
    container = draw(among(*CONTAINERS))
    return WorkloadAutoscaler(
        target="deployment/web",
        mode="Auto" if draw(mostly) else "Off",
        axes=draw(among(None, "Both", "Replicas", "Size")),
        min_replicas=least,
        max_replicas=draw(among(least, 5, 20)),
        containers=None if container is None else [container],
        late_after=draw(among(None, "100ms", "2s")),
        late_price=draw(among(None, 0.1, 3, 100)),
        **draw(given_metrics),
    )


@st.composite
def autoscaler_cases(draw, **world):
    """A replay of one of them, where late requests are known."""
    given = draw(worlds(**world))
    names = {**NAMES, "late": "late"}
    given = replace(given, metrics=replace(given.metrics, names=names))
    tried = Policy("tried", (draw(autoscalers()),), draw(starts))
    return Case(tried, draw(all_loads), given, draw(setups))

"""Small worlds for tests of decisions: a workload called web, its pods, and what was measured."""

from hypot.kinds.hpa import HPA
from hypot.kinds.wpa import WPA
from hypot.policy.decide import decide
from hypot.policy.hvpa.hvpa import SOURCES
from hypot.policy.hvpa.hvpa import decide as hvpa_decide
from hypot.policy.model.decision import condition_of
from hypot.policy.model.seen import Container, Owner, Pod, PodSample, Scale, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State, TimedValues
from hypot.policy.report import report
from hypot.policy.stages.report import Effect

NOW = 1_800_000_000.0
LONG_AGO = NOW - 3600.0
SELECTOR = "app=web"
MI = 1024 * 1024 * 1000

# History is known and empty: nothing holds a first decision back.
KNOWN = State(recommendations=EMPTY)


def pod(name="web-0", **changes):
    """A pod of web that has been serving for an hour, with requests of one cpu and 100 Mi."""
    usual = {
        "ready": "True",
        "ready_since": LONG_AGO,
        "started": LONG_AGO,
        "containers": (Container("app", {"cpu": 1000, "memory": 100 * MI}),),
        "labels": {"app": "web"},
        "owners": (Owner("ReplicaSet", "web-5d9c"),),
    }
    return Pod(name, **{**usual, **changes})


def fleet(count, **changes):
    return tuple(pod(f"web-{i}", **changes) for i in range(count))


def sample(cpu=None, memory=None, at=NOW - 10, window=30.0):
    """What one container used; a resource that is not given was not measured."""
    usage = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}
    return PodSample(at, window, (("app", usage),))


def cpu_samples(*usages):
    """One sample per pod of a fleet, in its order; None for a pod without a sample."""
    return {f"web-{i}": sample(usage) for i, usage in enumerate(usages) if usage is not None}


def seen(replicas, *, status=None, now=NOW, selector=SELECTOR, **observed):
    """The observed state of a workload; all its pods exist and are ready unless given otherwise."""
    scale = Scale(replicas, replicas if status is None else status, selector)
    return Seen(now, scale, **{"pods": fleet(replicas), **observed})


def busy(*usages, **observed):
    """A workload whose pods use this much cpu each, in milli."""
    return seen(len(usages), pod_metrics=cpu_samples(*usages), **observed)


def queue(amount, replicas=5, *, selector=None, **observed):
    """A workload and an external metric called queue; the amounts are milli, one per series."""
    values = amount if isinstance(amount, tuple) else (amount,)
    return seen(replicas, external_metrics={metric_key("queue", selector): values}, **observed)


def hpa(*metrics, max_replicas=100, **fields):
    return HPA("deployment/web", max_replicas=max_replicas, metrics=metrics or None, **fields)


def wpa(*metrics, max_replicas=100, **fields):
    return WPA("deployment/web", max_replicas=max_replicas, metrics=metrics or None, **fields)


def decided(spec, observed, state=KNOWN, **settings):
    """The decision alone."""
    return decide(spec, observed, state, Settings(**settings))[0]


def history(*entries):
    """Recommendations as (value, seconds ago)."""
    return TimedValues(tuple(value for value, _ in entries), tuple(NOW - ago for _, ago in entries))


def reason_of(decision, kind):
    """Status and reason of a condition, as `True/ReadyForNewScale`; empty where the condition is missing."""
    found = condition_of(decision.conditions, kind)
    return f"{found.status}/{found.reason}" if found else ""


def rules_of(decision):
    return [step.rule for step in decision.steps]


def made(spec, found, state, settings=None):
    """A move of a single kind as a decision with its report, and the state after it."""
    move, after = found
    decision = report(spec, move, state, settings or Settings())
    return decision, after.after_report(decision)


def refused(spec, decision, state, why):
    """The same decision after its write was refused."""
    return report(spec, decision, state, Settings(), Effect(refused=why))


def hvpa_decided(hvpa, seen, state, settings, sources=SOURCES):
    """The decision of an Hvpa by these sources, and the state after it."""
    return made(hvpa, hvpa_decide(hvpa, seen, state, settings, sources), state, settings)

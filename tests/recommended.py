"""Advice for workloads, made up for tests of what shows it."""

from hypot.kinds.base import Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu
from hypot.replay.advice.advice import TriedChoice, WorkloadAdvice, WorkloadPlan
from hypot.replay.advice.candidates import Candidates
from hypot.replay.advice.saving import Saving
from hypot.replay.advice.today import ScaledWorkload
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.parameters import World

START = Start("web", 2, "app", 1000, 2**30, None, None)
TODAY = Policy("today", (HPA("deployment/web", max_replicas=9, metrics=[cpu(utilization=70)]),), START)


def made_up(workload, today=100.0, saves=0.0, confidence="high", namespace="shop", late=0.5, idle=2.0):
    """A workload that costs so much a month today, of which so much is saved."""
    between = (saves * 0.9, saves * 1.1)
    before = TriedChoice("today", TODAY, Scores(late=late, idle_cores=idle), today, today, Saving(0.0, 0.0, (0.0, 0.0)))
    after = TriedChoice(
        *("tuned hpa", Policy("tuned hpa cpu=80", TODAY.autoscalers, START), Scores(late=0.1)),
        *(today - saves, today - saves, Saving(saves, saves / today, between)),
    )
    target = Ref("apps/v1", "Deployment", workload)
    subject = ScaledWorkload(target, namespace, (2, 9), "as in HPA web", ())
    given = {"today_assumed": False, "requests": True, "calibration": ()}
    plan = WorkloadPlan(subject, TODAY, "HPA web", Candidates({}, ()), World(), **given)
    best = after if saves > 0 else before
    return WorkloadAdvice(workload, "week.csv", 0.0, 7e5, 3e5, plan, (before, after), best, "", confidence, (), (), ())


def cluster(count=14):
    """Workloads of three namespaces; the third of each is kept as it is."""
    spaces = ("shop", "pay", "media")
    return [
        made_up(
            f"web-{i}",
            50.0 + 40 * i,
            0.0 if i % 3 == 2 else 5.0 + 7 * (i % 5),
            ("high", "medium", "low")[i % 3 if i % 3 < 2 else (i // 3) % 3],
            spaces[i // 5],
            2.0 if i == 4 else 0.5,
        )
        for i in range(count)
    ]

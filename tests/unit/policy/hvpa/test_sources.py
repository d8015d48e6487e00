"""Where an Hvpa's totals come from: the HPA, the VPA and other sources, and how they combine."""

import pytest

from builders import NOW, reason_of, rules_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.vpa import VPA
from hypot.policy.hvpa.count_source import count_proposal, utilization_metric
from hypot.policy.hvpa.hvpa import SOURCES, recommend
from hypot.policy.hvpa.proposal import SizeProposal, Total, total_of
from hypot.policy.hvpa.size_source import size_proposal
from hypot.policy.model.seen import Bounds, CountAdvice, Ended, Failure, metric_key
from hypot.policy.model.state import RecentUse, State, Vertical
from hypot.policy.observe.read_sizes import read_advice, read_count_advice
from unit.policy.hvpa.hvpa_cases import hpa, policy, vpa
from unit.policy.hvpa.hvpa_world import (
    BY_OBJECTS,
    QUEUE,
    UTILIZATION,
    advice,
    asking,
    both,
    box,
    context,
    decided,
    hvpa,
    one,
    point,
    run,
    sentences,
    sizes,
    used,
    world,
)

G = 10**9
M = 10**6
APP = box(cpu=500, memory=G)
SAME = sizes(500, G)
NO_VPA = {"deploy": False}
FREELY = {"minChange": {"cpu": {"value": 0}, "memory": {"value": 0}}}
COUNT_ONLY = hvpa(hpa=hpa(metrics=[QUEUE]), vpa=NO_VPA, annotations=BY_OBJECTS)
TOTAL_ONLY = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA, annotations=BY_OBJECTS)


class Usage:
    """Histograms with fixed estimates."""

    def __init__(self, **targets):
        self.targets, self.asked = targets, []

    def containers(self):
        return tuple(self.targets)

    def estimate(self, knobs, containers, resources):
        self.asked.append((knobs, tuple(containers), resources))
        return tuple(Bounds(name, *([self.targets[name]] * 4)) for name in containers if name in self.targets)


class TestTotals:
    """Totals as the proposal defines them."""

    def test_of_each_source(self):
        """HPA: desired replicas times the current size; VPA: current replicas times the recommended size."""
        found = recommend(context(both(), world(3, box(cpu=500), app=sizes(700), desired=4)))
        assert {proposal.source: dict(proposal.totals) for proposal in found} == {
            "hpa": {("app", "cpu"): 2000},
            "vpa": {("app", "cpu"): 2100},
        }

    def test_by_pods_of_different_size(self):
        """The current total, scaled by the desired over the current replicas."""
        seen = world(2, box(), pods=(*world(1, box(cpu=300)).pods, *world(1, box(cpu=500)).pods), desired=3)
        assert count_proposal(context(both(), seen)).totals == {("app", "cpu"): 1200}

    @pytest.mark.parametrize(
        ("now", "totals", "expected"),
        [
            (1000, {"vpa": 800, "hpa": 1000}, Total(800, "vpa")),
            (1000, {"vpa": 800, "hpa": 900}, Total(800, "vpa")),
            (1000, {"vpa": 800, "hpa": 1100}, Total(1100, "hpa")),
            (1000, {"vpa": 1200, "hpa": 1100}, Total(1200, "vpa")),
            (1000, {"hpa": 900}, Total(900, "hpa")),
            (1000, {}, None),
        ],
    )
    def test_exact_totals_before_those_of_whole_replicas(self, now, totals, expected):
        """A steady count does not keep the VPA from lowering sizes; a higher count raises them."""
        place = ("app", "cpu")
        proposals = tuple(
            SizeProposal(source, (), {place: total}, exact=source == "vpa") for source, total in totals.items()
        )
        assert total_of(place, now, proposals) == expected

    @pytest.mark.parametrize(
        ("metric", "expected"),
        [
            (UTILIZATION, True),
            ({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue"}}}, False),
            (
                {
                    "type": "ContainerResource",
                    "containerResource": {"container": "app", "name": "cpu", "target": {"averageUtilization": 50}},
                },
                True,
            ),
            (QUEUE, False),
            ({"type": "Resource"}, False),
            ({}, False),
        ],
    )
    def test_only_utilization_makes_a_total(self, metric, expected):
        """With other metrics, replicas times request would grow with every resize."""
        assert (utilization_metric(Metric.read(metric)) is not None) is expected


class TestSteady:
    """Both sources together."""

    def test_a_steady_hpa_allows_smaller_pods_and_keeps_their_number(self):
        """The VPA gives the total, the HPA the number of replicas."""
        decision = decided(both(), world(3, box(cpu=1000), app=sizes(600), desired=3))
        assert one(decision) == (3, sizes(600))

    def test_an_hpa_that_asks_for_more(self):
        """Every resource rises in proportion to the replicas."""
        decision = decided(both(), world(2, APP, app=SAME, desired=5))
        assert one(decision) == (3, sizes(834, 1_666_667_000))
        assert decision.reason == "cpu of app needs 2500m in total (hpa)"

    def test_an_hpa_that_asks_for_less(self):
        """It does not change sizes while the VPA has a recommendation."""
        assert one(decided(both(), world(3, box(cpu=1000), app=sizes(990), desired=1))) == (3, sizes(990))

    def test_a_count_alone_is_a_count(self):
        """Metrics other than utilization vote for replicas, and the total stays the VPA's."""
        decision = decided(both(QUEUE), world(2, box(cpu=600), app=sizes(600), desired=4))
        assert decision.desired == 4
        assert decision.reason == "the HPA asks for 4 replicas"
        assert sentences(decision, "votes") == ["The HPA asks for 4 replicas."]
        then = decided(both(QUEUE), world(4, box(cpu=600), desired=4, app=sizes(300)))
        assert one(then) == (4, sizes(300))

    def test_a_count_never_grows_with_sizes(self):
        """An HPA on request rate, which once ran from 5 cores to 18, stays stable."""
        replicas, size = 3, 1000
        for _ in range(10):
            seen = world(replicas, box(cpu=size), app=sizes(-(-5000 // replicas)), desired=3)
            decision = decided(both(QUEUE), seen)
            replicas, size = decision.desired, decision.desired_sizes[0].requests["cpu"]
        assert (replicas, size) == (3, 1667)


class TestSwitches:
    """Which sources are used."""

    def test_only_the_vpa(self):
        """The HPA is not used."""
        assert [proposal.source for proposal in recommend(context(hvpa(), world(1, APP, app=SAME, desired=9)))] == [
            "vpa"
        ]
        assert decided(hvpa(), world(1, APP, app=SAME, desired=5)).desired == 1

    def test_only_the_hpa_with_utilization(self):
        """Its total is divided like any other."""
        assert one(decided(TOTAL_ONLY, world(1, APP, desired=5))) == (3, sizes(834, 1_666_667_000))
        down = decided(TOTAL_ONLY, world(4, box(cpu=500, memory=G), desired=2))
        assert one(down) == (2, SAME)

    @pytest.mark.parametrize(("desired", "expected"), [(4, 4), (3, 3), (2, 2), (9, 5)])
    def test_only_the_hpa_with_another_metric(self, desired, expected):
        """Replicas move and sizes stay; down as well as up."""
        assert one(decided(COUNT_ONLY, world(3, APP, desired=desired))) == (expected, SAME)

    def test_absent_blocks_are_our_own(self):
        """Both of our own recommenders are used."""
        spec = hvpa(hpa=None, vpa=None)
        assert [proposal.source for proposal in recommend(context(spec, world(1, APP)))] == ["hpa", "vpa"]

    def test_neither(self):
        """No source is used."""
        assert recommend(context(hvpa(vpa=NO_VPA), world(1, APP))) == ()

    def test_a_container_that_is_switched_off(self):
        """The HPA scales because of it, but it keeps its size."""
        spec = both(vpa=vpa(policy("side", mode="Off")))
        seen = world(2, APP, box("side", 100, G), app=SAME, desired=3)
        assert point(decided(spec, seen)) == (2, {"app": sizes(750, 1500 * M), "side": sizes(100, G)})

    def test_every_container_is_switched_off(self):
        """Sizes stay, but the count changes."""
        spec = both(vpa=vpa(policy(mode="Off")))
        for desired in (3, 1):
            assert one(decided(spec, world(2, APP, app=SAME, desired=desired))) == (desired, SAME)

    def test_controlled_resources(self):
        """Memory that is not controlled stays."""
        usage = Usage(app=sizes(900))
        spec = hvpa(vpa=vpa(policy(controlledResources=["cpu"])))
        assert one(decided(spec, world(2, APP, usage=usage))) == (2, sizes(900, G))
        assert usage.asked[0][2] == {"app": ("cpu",)}

    def test_what_is_not_controlled_is_not_sized(self):
        """Not by the HPA's total either."""
        spec = both(vpa=vpa(policy(controlledResources=["cpu"])))
        assert one(decided(spec, world(2, APP, app=sizes(500), desired=3))) == (2, sizes(750, G))

    def test_nothing_of_a_container_is_controlled(self):
        """No recommendation for it is needed."""
        spec = hvpa(vpa=vpa(policy("side", controlledResources=[])))
        seen = world(2, APP, box("side", 100, G), app=sizes(100, 100 * M))
        assert point(decided(spec, seen)) == (1, {"app": sizes(200, 200 * M), "side": sizes(100, G)})


class TestOwn:
    """Our own recommenders on the same observation, or the status of objects."""

    def test_histograms_before_a_status(self):
        """If both exist, the histograms count, and the sentence says so."""
        decision = decided(hvpa(), world(2, APP, app=sizes(700, G), usage=Usage(app=sizes(600, G))))
        assert one(decision) == (2, sizes(600, G))
        assert sentences(decision, "size")[0].startswith(
            "According to the histograms of usage each of the 2 pods needs"
        )

    def test_a_status_where_there_are_no_histograms(self):
        """A dump without checkpoints still has the recommendation of another recommender."""
        decision = decided(hvpa(), world(2, APP, app=sizes(700, G)))
        assert sentences(decision, "size")[0].startswith(
            "According to the status of a VPA each of the 2 pods needs: app cpu 700m"
        )

    def test_of_one_pod(self):
        """The sentences say one pod and one replica."""
        decision = decided(hvpa(), world(1, APP, app=sizes(100, 100 * M)))
        assert sentences(decision, "size") == [
            "According to the status of a VPA the one pod needs: app cpu 100m, memory 100M.",
            "app at 1 replica: cpu from 500m to 100m, memory from 1G to 100M.",
        ]

    def test_objects_where_asked_for(self):
        """Histograms are not used."""
        spec = hvpa(annotations=BY_OBJECTS)
        assert one(decided(spec, world(2, APP, app=sizes(700, G), usage=Usage(app=sizes(600, G))))) == (
            2,
            sizes(700, G),
        )

    def test_knobs_of_the_template(self):
        """They go to the recommender, for each container."""
        block = {"deploy": True, "template": {"metadata": {"annotations": {"hypot.dev/safety-margin": "0.5"}}}}
        usage = Usage(app=SAME)
        decided(hvpa(vpa=block), world(1, APP, usage=usage))
        assert usage.asked[0][0]["app"].safety_margin == 0.5

    def test_the_bound_of_a_pod_does_not_bound_the_total(self):
        """Our own recommender passes on its target before bounds."""
        usage = Usage()
        usage.estimate = lambda *_: (Bounds("app", sizes(500), {}, {}, sizes(700)),)
        assert one(decided(hvpa(), world(2, box(cpu=500), usage=usage))) == (2, sizes(700))

    def test_metrics_by_our_own_reading(self):
        """Pods at twice their target need twice the total."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA)
        seen = world(2, box(cpu=500), pod_metrics=used(2, app=sizes(1000)))
        decision = decided(spec, seen)
        assert decision.reason == "cpu of app needs 2 in total (hpa)"
        assert one(decision) == (2, sizes(1000))

    @pytest.mark.parametrize(
        ("measured", "sentence"),
        [
            (
                3,
                "app uses 900m of cpu in total, over 3 measured pods: at 100 % of its requests it needs 900m in total.",
            ),
            (
                1,
                "app uses 300m of cpu in total, over 1 measured pod: at 100 % of its requests it needs 1300m in total.",
            ),
        ],
    )
    def test_the_sentence_says_what_its_figures_are(self, measured, sentence):
        """Both are totals; usage is that of the measured pods, and pods without a sample need what they have."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA)
        decision = decided(spec, world(3, box(cpu=500), pod_metrics=used(measured, app=sizes(300))))
        assert sentences(decision, "utilization-total") == [sentence]

    @pytest.mark.parametrize(("usage", "expected"), [(280, 400), (308, 440), (294, 400), (168, 240)])
    def test_a_utilization_gives_an_exact_total(self, usage, expected):
        """No whole replicas and no tolerance; only the minimum change of 10 % counts, and memory is left alone."""
        target = {"type": "Utilization", "averageUtilization": 70}
        least = {"minChange": {"cpu": {"percentage": 10}}}
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        spec = hvpa(hpa=hpa(metrics=[metric]), vpa=NO_VPA, scaleUp=least, scaleDown=least)
        assert one(decided(spec, world(1, box(cpu=400, memory=G), pod_metrics=used(1, app=sizes(usage))))) == (
            1,
            sizes(expected, G),
        )

    def test_bounds_of_the_hpa_do_not_bound_a_total(self):
        """Two pods that use five times their target need five times the total."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION], maxReplicas=2), vpa=NO_VPA)
        decision = decided(spec, world(2, box(cpu=500), pod_metrics=used(2, app=sizes(2500))))
        assert one(decision) == (3, sizes(1667))

    def test_each_container_by_its_own_usage(self):
        """The pod is at its target; one container needs more than it has, the other less."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA, scaleUp=FREELY, scaleDown=FREELY)
        seen = world(2, box(cpu=500), box("side", 500), pod_metrics=used(2, app=sizes(700), side=sizes(300)))
        assert point(decided(spec, seen)) == (2, {"app": sizes(700), "side": sizes(300)})

    def test_a_container_that_may_not_be_sized_asks_for_replicas(self):
        """It is at twice its target, so there are twice as many."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa={"deploy": False, **vpa(policy("side", mode="Off"))} | NO_VPA)
        seen = world(1, box(cpu=500), box("side", 100), pod_metrics=used(1, app=sizes(500), side=sizes(200)))
        decision = decided(spec, seen)
        assert decision.desired == 2
        assert point(decision)[1]["side"] == sizes(100)

    def test_idle_pods_keep_a_usable_size(self):
        """Nothing is used, and nothing says how little is allowed: each pod keeps the recommender's least."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA)
        assert one(decided(spec, world(1, box(cpu=500), pod_metrics=used(1, app=sizes(0))))) == (1, sizes(25))

    def test_pods_that_crashed_lower_nothing(self):
        """All were OOM-killed and use nothing."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA)
        hurt = box(cpu=500, ended=Ended("OOMKilled", NOW - 600, NOW - 60))
        decision = decided(spec, world(4, hurt, pod_metrics=used(4, app=sizes(0))))
        assert one(decision) == (4, sizes(500))

    def test_an_external_metric_by_our_own_reading(self):
        """A queue of three at a target of one, with one replica, leads to three replicas."""
        spec = hvpa(hpa=hpa(metrics=[QUEUE]), vpa=NO_VPA)
        seen = world(1, APP, external_metrics={metric_key("queue", None): (3000,)})
        assert one(decided(spec, seen)) == (3, SAME)

    def test_a_metric_that_fails(self):
        """The status of an HPA counts if there is one, else nothing scales down."""
        spec = hvpa(hpa=hpa(metrics=[QUEUE]))
        silent = decided(spec, world(3, APP, app=sizes(100, 100 * M)))
        assert (silent.moves, reason_of(silent, "RecommendationProvided")) == (False, "False/PartlyMissing")
        heard = decided(spec, world(3, APP, app=SAME, desired=4))
        assert heard.desired == 4

    @pytest.mark.parametrize(
        ("percent", "expected"), [({"averageUtilization": 150}, (2, sizes(750, G))), ({}, (2, sizes(1000, 2 * G)))]
    )
    def test_the_utilization_in_a_status(self, percent, expected):
        """The status of an HPA with a utilization gives an exact total of cpu; without, four pods of each resource."""
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "current": percent}}]
        status = {"desiredReplicas": 4, "currentReplicas": 2, "currentMetrics": metrics}
        advice = read_count_advice(HPA.from_dict({"metadata": {"name": "web"}, "status": status}))
        assert one(decided(TOTAL_ONLY, world(2, APP, count_advice=advice))) == expected

    def test_bounds_of_the_hpa_bound_the_hpa(self):
        """They do not bound other sources."""
        spec = hvpa(hpa=hpa(metrics=[QUEUE], maxReplicas=2), vpa=NO_VPA, annotations=BY_OBJECTS)
        assert decided(spec, world(1, APP, desired=4)).desired == 2
        alone = both(QUEUE)
        assert decided(alone, world(1, APP, app=sizes(9000, G), desired=1)).desired == 4


class TestStatus:
    """The status of real objects."""

    @pytest.mark.parametrize("kind", ["ConfigUnsupported", "ConfigDeprecated", "LowConfidence"])
    def test_a_vpa_with_an_unreliable_recommendation(self, kind):
        """Its recommendation is not used."""
        found = read_advice(self.vpa([{"type": kind, "status": "True"}]))
        assert isinstance(found, Failure)
        assert kind in found.message
        assert decided(hvpa(), world(2, APP, size_advice=found)).moves is False

    @pytest.mark.parametrize(
        ("conditions", "usable"),
        [
            ([], True),
            ([{"type": "RecommendationProvided", "status": "True"}], True),
            ([{"type": "RecommendationProvided", "status": "False"}], False),
            ([{"type": "LowConfidence", "status": "False"}], True),
            ("odd", True),
        ],
    )
    def test_a_vpa_with_a_reliable_recommendation(self, conditions, usable):
        """It is used if the VPA provides it, or does not say otherwise."""
        found = read_advice(self.vpa(conditions))
        assert isinstance(found, Failure) is not usable
        if usable:
            assert found.containers == (Bounds("app", sizes(700, G)),)

    def test_a_vpa_without_a_recommendation(self):
        """It is a failure; no default replaces it."""
        assert isinstance(read_advice(VPA.from_dict({"metadata": {"name": "web"}})), Failure)

    @staticmethod
    def vpa(conditions):
        target = {"containerName": "app", "target": {"cpu": "700m", "memory": "1G"}}
        status = {"conditions": conditions, "recommendation": {"containerRecommendations": [target]}}
        return VPA.from_dict({"metadata": {"name": "web"}, "status": status})

    @pytest.mark.parametrize(
        "reported",
        [
            None,
            Failure("there is no such HPA"),
            CountAdvice(1, 3, "the status of an HPA"),
            read_count_advice(HPA.from_dict({"status": {"desiredReplicas": 0, "currentReplicas": 2}})),
            read_count_advice(HPA.from_dict({"status": "odd"})),
        ],
    )
    def test_an_hpa_without_a_valid_count(self, reported):
        """Absent, or computed at another count: nothing scales down meanwhile, and this is reported."""
        decision = decided(both(), world(2, APP, app=sizes(100, 10 * M), count_advice=reported))
        assert not decision.moves
        assert "no-count" in rules_of(decision)
        assert reason_of(decision, "RecommendationProvided") == "False/PartlyMissing"

    def test_an_hpa_that_asks(self):
        """Both counts are read."""
        found = read_count_advice(
            HPA.from_dict({"metadata": {"name": "web"}, "status": {"desiredReplicas": 4, "currentReplicas": 2}})
        )
        assert found == CountAdvice(4, 2, "the status of HorizontalPodAutoscaler web")

    def test_utilization_with_other_metrics(self):
        """Which metric asked is unknown, so it is a count."""
        proposal = count_proposal(context(both(UTILIZATION, QUEUE), world(2, APP, desired=3)))
        assert (proposal.totals, proposal.replicas) == ({}, 3)


class TestThird:
    """A custom source in addition to the two."""

    def test_its_total_counts(self):
        """Nothing else knows this source; the reason names it."""
        forecast = asking("forecast", exact=False, app=sizes(7000))
        decision = decided(hvpa(), world(2, box(cpu=500), app=sizes(500)), sources=[*SOURCES, forecast])
        assert one(decision) == (4, sizes(1750))
        assert decision.reason == "cpu of app needs 7 in total (forecast)"
        assert sentences(decision, "forecast") == ["The source forecast asks."]

    def test_its_vote_counts(self):
        """A source may ask for replicas only."""
        forecast = asking("forecast", exact=False, replicas=3)
        decision = decided(hvpa(), world(2, box(cpu=500), app=sizes(500)), sources=[forecast, *SOURCES])
        assert decision.desired == 3
        assert decision.reason == "forecast asks for 3 replicas"

    def test_its_missing_answer_counts(self):
        """Nothing scales down."""
        forecast = asking("forecast", missing="no history yet")
        assert not decided(hvpa(), world(2, box(cpu=500), app=sizes(300)), sources=[*SOURCES, forecast]).moves

    def test_it_may_be_switched_off(self):
        """A source that returns None is ignored."""
        sources = [lambda _: None, *SOURCES]
        assert one(decided(hvpa(), world(2, box(cpu=500), app=sizes(300)), sources=sources)) == (2, sizes(300))

    def test_it_sees_what_all_see(self):
        """All sources get the same context."""
        look = context(hvpa(), world(2, box(cpu=500), app=sizes(500)))
        assert (look.replicas, look.current_sizes[0].totals["cpu"], look.seen.now) == (2, 1000, NOW)

    def test_two_that_agree_are_reported_alike(self):
        """Their order changes nothing, the reason included."""
        ways = [asking("a", app=sizes(1500)), asking("b", app=sizes(1500))]
        reported = [decided(hvpa(), world(2, box(cpu=500)), sources=each) for each in (ways, ways[::-1])]
        assert reported[0].reason == reported[1].reason
        assert reported[0].reported == reported[1].reported

    def test_what_was_recommended_is_remembered(self):
        """The size source keeps it for a later change of the count."""
        proposal = size_proposal(context(hvpa(), world(2, APP, size_advice=advice(app=SAME, gone=SAME))))
        assert proposal.advice == {"app": SAME}


LEAST = {"minChange": {"cpu": {"percentage": 10}}}
AT_70 = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
CALM = hvpa(hpa=hpa(metrics=[AT_70]), vpa=NO_VPA, scaleUp=LEAST, scaleDown={**LEAST, "stabilizationDuration": "10m"})


class TestNoise:
    """One pod of 1000m with a target of 70 %. The last scale-down, of at most one in ten minutes, was an hour ago."""

    def proposal(self, usage, recent=None):
        look = context(CALM, world(1, box(cpu=1000), pod_metrics=used(1, app=sizes(usage))))
        past = Vertical(last_down=NOW - 3600, recent={} if recent is None else {"app/cpu": recent})
        return count_proposal(look._replace(vertical=past))

    @pytest.mark.parametrize(
        ("usage", "mean", "peak", "expected"),
        [
            # It rises for a short time, for long enough, and to the requests.
            (840, 900.0, 800.0, 1000),
            (840, 1150.0, 800.0, 1200),
            (952, 700.0, 900.0, 1360),
            # It falls: the peak stays, then all of it is removed.
            (490, 700.0, 850.0, 850),
            (490, 700.0, 500.0, 700),
        ],
    )
    def test_what_lasts_counts(self, usage, mean, peak, expected):
        """The average is ten minutes old: half of it is new."""
        proposal = self.proposal(usage, RecentUse(mean, NOW - 600, peak, NOW - 60))
        assert proposal.totals == {("app", "cpu"): expected}

    def test_it_is_explained(self):
        """The step has both totals and the reason."""
        proposal = self.proposal(840, RecentUse(900.0, NOW - 15, 800.0, NOW - 60))
        assert proposal.steps[-1].sentence == (
            "cpu of app counts as 1, not as 1200m: a rise soon after a scale-down counts once the average over about "
            "10 min shows it too, or once usage reaches the requests or nears what pods can get."
        )

    def test_it_is_remembered(self):
        """The average and the peak; looking again at the same time changes nothing."""
        proposal = self.proposal(840, RecentUse(1000.0, NOW - 600, 700.0, NOW - 60))
        assert proposal.recent == {"app/cpu": RecentUse(1100.0, NOW, 840.0, NOW)}
        again = self.proposal(840, proposal.recent["app/cpu"])
        assert (again.totals, again.recent) == (proposal.totals, proposal.recent)

    def test_without_a_past_everything_counts(self):
        """The first sample is its own average. A decision keeps it in the state."""
        assert self.proposal(840).totals == {("app", "cpu"): 1200}
        state = run(CALM, world(1, box(cpu=1000), pod_metrics=used(1, app=sizes(840))))[1]
        assert state.vertical.recent == {"app/cpu": RecentUse(1200.0, NOW, 840.0, NOW)}
        assert State.from_dict(state.to_dict()) == state


class TestRoom:
    """Nothing falls so far that what is used now would be above 90 % of what pods can get."""

    def busy(self, usage, **more):
        """Four pods of 500m, which is also their limit."""
        pods = box(cpu=500, limits=sizes(500))
        return world(4, pods, pod_metrics=used(4, app=sizes(usage)), **more)

    def fewer(self, usage, **spec):
        """What remains if a metric asks for a single replica."""
        made = hvpa(hpa=hpa(metrics=[QUEUE], minReplicas=1), vpa=NO_VPA, **spec)
        return decided(made, self.busy(usage), sources=[asking("hpa", exact=False, replicas=1)])

    @pytest.mark.parametrize(("usage", "expected"), [(100, 1), (120, 2), (337, 3), (338, 4), (500, 4)])
    def test_a_vote_for_replicas(self, usage, expected):
        """One pod serves 450m."""
        assert self.fewer(usage).desired == expected

    def test_it_is_explained(self):
        """The step names the container and how many replicas stay."""
        message = "With fewer than 3 replicas, cpu of app would reach its cap."
        assert sentences(self.fewer(330), "kept-replicas") == [message]
        assert sentences(self.fewer(100), "kept-replicas") == []

    def test_soon_after_replicas_were_removed(self):
        """Samples are of the time before, so nothing more is removed until they show what the others have to do."""
        made = hvpa(hpa=hpa(metrics=[QUEUE], minReplicas=1), vpa=NO_VPA)
        _, state = run(made, world(6, box(cpu=500), now=NOW - 60))
        for at, expected in ((NOW, 4), (NOW + 180, 1)):
            seen = self.busy(50, now=at)
            decision, state = run(made, seen, state, sources=[asking("hpa", exact=False, replicas=1)])
            assert decision.desired == expected
            assert bool(sentences(decision, "kept-replicas")) is (expected == 4)

    def test_without_a_cap_or_samples_it_is_unknown(self):
        """Then the vote counts."""
        made = hvpa(hpa=hpa(metrics=[QUEUE], minReplicas=1), vpa=NO_VPA)
        for seen in (world(4, box(cpu=500), pod_metrics=used(4, app=sizes(500))), world(4, box(cpu=500))):
            assert decided(made, seen, sources=[asking("hpa", exact=False, replicas=1)]).desired == 1

    @pytest.mark.parametrize(("values", "expected"), [("RequestsOnly", 3), ("RequestsAndLimits", 1)])
    def test_a_total_where_limits_are_fixed(self, values, expected):
        """400m fit in one pod, but three pods of 500m must serve 1200m; if limits follow, the total itself is right."""
        spec = hvpa(vpa=vpa(policy("app", controlledValues=values)))
        decision = decided(spec, self.busy(300), sources=[asking("vpa", app=sizes(400))])
        assert decision.desired == expected
        why = "3 replicas must remain" if expected == 3 else "its interval is for 1 replica"
        assert sentences(decision, "interval") == [f"Cpu of app needs 400m in total (vpa): {why}."]

    def test_a_container_that_moves_along_with_another(self):
        """The change of app is too small to cause a move; side would leave one replica, and app needs three."""
        spec = hvpa(
            vpa=vpa(policy("app", controlledValues="RequestsOnly")),
            scaleDown={"minChange": {"cpu": {"percentage": 90}}},
        )
        pods = (box(cpu=500, limits=sizes(500)), box("side", cpu=1000, limits=sizes(1000)))
        seen = world(4, *pods, pod_metrics=used(4, app=sizes(300), side=sizes(10)))
        asked = asking("vpa", app=sizes(400), side=sizes(100))
        assert decided(spec, seen, sources=[asked]).desired == 3

    def test_a_total_of_a_utilization(self):
        """At a target of 100 %, 1600m would be enough; at 90 % of their limits pods need 1777m."""
        spec = hvpa(hpa=hpa(metrics=[UTILIZATION]), vpa=NO_VPA)
        proposal = count_proposal(context(spec, self.busy(400)))
        assert proposal.totals == {("app", "cpu"): 1777}
        assert proposal.steps[-1].sentence == (
            "With less than 1777m of cpu in total, app would reach its cap: it keeps that."
        )

"""An external recommender: the request, the reply, and the decision."""

import json

import pytest

from builders import decided, fleet, pod, reason_of, seen, wpa
from hypot.kinds.wpa.fields import Recommender, WatermarkRules
from hypot.policy.horizontal.recommender import build_request, metric_name, read_reply
from hypot.policy.model.seen import Failure, Reply
from hypot.policy.model.state import State

ADVICE = Recommender("https://advice.example/", "cpu", {"team": "shop", "env": "prod"}, high="800m", low="500m")
FREE = {"scale_up": WatermarkRules(percent=10_000), "scale_down": WatermarkRules(percent="99.9")}


def advised(**fields):
    return wpa(recommender=ADVICE, **{**FREE, **fields})


def asked(reply, replicas=10, **fields):
    observed = {key: fields.pop(key) for key in ("pods", "status") if key in fields}
    return decided(advised(**fields), seen(replicas, reply=reply, **observed), State())


class TestRequest:
    """What is sent."""

    def test_everything_the_service_may_need(self):
        """The desired count of the scale is sent as currentReplicas; the marks are plain numbers."""
        spec = advised(min_replicas=2, max_replicas=40, namespace="shop")
        body = build_request(spec, seen(10, status=12).scale, 9, "blue")
        assert json.loads(json.dumps(body)) == {
            "state": {"desiredReplicas": 10, "currentReplicas": 10, "readyReplicas": 9},
            "targetRef": {
                "kind": "Deployment",
                "name": "web",
                "apiVersion": "apps/v1",
                "namespace": "shop",
                "cluster": "blue",
            },
            "constraints": {"minReplicas": 2, "maxReplicas": 40},
            "targets": [{"type": "cpu", "targetValue": 0, "lowerBound": 0.5, "upperBound": 0.8}],
            "settings": {"team": "shop", "env": "prod"},
        }

    def test_what_is_not_written_has_its_default(self):
        """One replica at least, no cluster, no settings."""
        spec = wpa(recommender=Recommender("http://a.example/", high=2, low=1))
        body = build_request(spec, seen(3).scale, 3)
        assert body["constraints"]["minReplicas"] == 1
        assert (body["targetRef"]["cluster"], body["settings"], body["targets"][0]["type"]) == ("", {}, "")

    def test_the_name_of_the_metric(self):
        """Its keys are sorted."""
        assert metric_name(ADVICE) == "recommender{targetType:cpu,env:prod,team:shop}"
        assert metric_name(Recommender("http://a.example/")) == "recommender{targetType:}"


class TestReply:
    """What is read."""

    def test_a_complete_reply(self):
        """Only the first observed target is used."""
        answer = {
            "targetReplicas": 12,
            "lowerBoundReplicas": 11,
            "upperBoundReplicas": 14,
            "timestamp": "2027-01-15T08:00:00Z",
            "reason": "busy",
            "observedTargets": [{"type": "cpu", "targetValue": 0.9}, {"targetValue": 5}],
        }
        assert read_reply(answer) == Reply(12, 11, 14, "busy", 0.9, 1_800_000_000.0)

    @pytest.mark.parametrize(
        ("answer", "reply"),
        [
            ({"timestamp": "2027-01-15T08:00:00Z"}, Reply(0, at=1_800_000_000.0)),
            ({"targetReplicas": 3, "timestamp": "yesterday"}, Reply(3)),
            ({"targetReplicas": 3, "timestamp": 7}, Reply(3)),
            ({"upperBoundReplicas": 4}, Reply(0, 0, 4)),
            ({"targetReplicas": 3, "error": {}}, Reply(3)),
            ({"targetReplicas": 3, "error": None, "observedTargets": None, "reason": None}, Reply(3)),
            ({"targetReplicas": 3, "error": {"code": 0, "message": ""}, "observedTargets": [3]}, Reply(3)),
        ],
    )
    def test_what_is_left_out_is_zero(self, answer, reply):
        """Protobuf's JSON leaves zeros out."""
        assert read_reply(answer) == reply

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (None, "not a JSON object"),
            ([], "not a JSON object"),
            ("12", "not a JSON object"),
            ({"error": {"code": 7, "message": "no data"}, "targetReplicas": 5}, "answered with an error 7"),
            ({"error": {"message": "no data"}}, "answered with an error"),
            ({}, "neither a count of replicas nor a timestamp"),
            ({"status": "ok"}, "neither a count of replicas nor a timestamp"),
            ({"timestamp": None, "reason": "maintenance"}, "neither a count of replicas nor a timestamp"),
            ({"targetReplicas": "12"}, "not whole numbers"),
            ({"targetReplicas": 1.5}, "not whole numbers"),
            ({"targetReplicas": True}, "not whole numbers"),
            ({"targetReplicas": -1}, "not whole numbers"),
            ({"targetReplicas": 3, "upperBoundReplicas": None}, "not whole numbers"),
        ],
    )
    def test_invalid_replies(self, answer, message):
        """Each failure says why."""
        found = read_reply(answer)
        assert isinstance(found, Failure)
        assert message in found.message

    @pytest.mark.parametrize("value", ["1e400", "NaN", "-Infinity", "1e308", "1" + "0" * 400])
    def test_an_observed_value_may_be_anything(self, value):
        """It is only shown, so it cannot break a decision."""
        answer = json.loads(f'{{"targetReplicas": 12, "observedTargets": [{{"targetValue": {value}}}]}}')
        decision = asked(read_reply(answer))
        assert decision.desired == 12 or not decision.decided
        json.dumps(decision.to_dict(), allow_nan=False)


class TestDecision:
    """How a reply is used."""

    @pytest.mark.parametrize(
        ("reply", "desired", "above", "below"),
        [
            (Reply(12, 11, 14), 12, "True", "False"),
            (Reply(12, 8, 14), 12, "False", "False"),
            (Reply(7, 6, 9), 7, "False", "True"),
            (Reply(7, 6, 12), 7, "False", "False"),
            (Reply(10, 12, 14), 10, "False", "False"),  # it agrees: no flag, whatever its bounds
            (Reply(200, 11, 300), 100, "True", "False"),
            (Reply(0, 0, 0), 10, "False", "False"),  # zero is not tolerated
        ],
    )
    def test_from_ten_replicas(self, reply, desired, above, below):
        """AboveHighWatermark: below the reply's lower bound; BelowLowWatermark: above its upper bound."""
        decision = asked(reply)
        assert decision.desired == desired
        assert reason_of(decision, "AboveHighWatermark").startswith(above)
        assert reason_of(decision, "BelowLowWatermark").startswith(below)

    def test_a_zero_that_is_tolerated(self):
        """Down to the minimum, as fast as the limit allows."""
        assert asked(Reply(0), tolerate_zero=True).desired == 1
        assert asked(Reply(0), tolerate_zero=True, scale_down=WatermarkRules(percent=20)).desired == 8

    def test_an_untolerated_zero_holds_with_fewer_ready(self):
        """It holds at the current size."""
        pods = (*fleet(7), *(pod(f"new-{i}", ready="False") for i in range(3)))
        assert asked(Reply(0), pods=pods).desired == 10

    @pytest.mark.parametrize(("count", "desired"), [(11, 15), (7, 10), (4, 5)])
    def test_groups(self, count, desired):
        """Counts are raised to whole groups, but never past the current size."""
        assert asked(Reply(count, 11, 9), modulo=5).desired == desired

    @pytest.mark.parametrize(
        ("towards", "reply", "desired"),
        [
            ("highwatermark", Reply(10, 8, 12), 9),
            ("highwatermark", Reply(10, 10, 12), 10),
            ("lowwatermark", Reply(10, 8, 12), 11),
            ("lowwatermark", Reply(10, 8, 10), 10),
            ("lowwatermark", Reply(12, 8, 13), 12),  # the reply asks for a change itself
            (None, Reply(10, 8, 12), 10),
        ],
    )
    def test_convergence(self, towards, reply, desired):
        """If the reply agrees with the current size, between its bounds."""
        assert asked(reply, converge=towards).desired == desired

    @pytest.mark.parametrize("reply", [None, Failure("502 Bad Gateway")])
    def test_no_answer_holds(self, reply):
        """The condition has the reason of a resource metric."""
        decision = asked(reply)
        assert (decision.desired, decision.decided) == (10, False)
        assert reason_of(decision, "ScalingActive") == "False/FailedGetResourceMetric"
        assert "https://advice.example/" in decision.error

    @pytest.mark.parametrize("pods", [(), fleet(2, ready="False")])
    def test_pods_are_counted_as_for_external_metrics(self, pods):
        """None ready is a failure, whatever the answer."""
        assert not asked(Reply(12), pods=pods).decided

    def test_too_few_available(self):
        """The minimum of available pods applies."""
        pods = (*fleet(2), pod("new", ready="False"))
        assert "only 66 %" in asked(Reply(12), 3, pods=pods, min_available=80).error

    def test_limits_and_bounds_hold(self):
        """The reply is a proposal like any other."""
        assert asked(Reply(30), scale_up=WatermarkRules(percent=50)).desired == 15
        assert asked(Reply(30), max_replicas=12).desired == 12

    def test_its_reason_is_passed_on(self):
        """In the condition and in the step."""
        decision = asked(Reply(12, 11, 14, "black friday", 0.93))
        active = next(c for c in decision.conditions if c.type == "ScalingActive")
        assert active.message.endswith(": black friday")
        assert "because black friday" in decision.steps[0].sentence
        assert decision.readings[0].value == 930

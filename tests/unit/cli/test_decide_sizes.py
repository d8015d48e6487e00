"""hypot decide on kinds that size pods, as its users see it."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hypot.cli import verdict
from hypot.cli.verdict import Glyphs, Verdict, report, summary
from hypot.kinds.text.load import Source
from hypot.policy.model.state import State
from unit.policy.sizes_world import (
    TARGET,
    VALIDATOR,
    advised,
    ago,
    box,
    checkpoint,
    decided,
    document,
    fleet,
    hvpa,
    hypot,
    limit_range,
    node,
    ran,
    recommended,
    sample,
    sized,
    vpa,
    workload,
    written,
)
from unit.policy.tortoise import tortoise_world

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "both-axes.yaml"
LEARNT = {"cpu": {20: 10000}, "memory": {40: 10000}}
CHECKPOINT = checkpoint(**LEARNT)
# Twice the size, applied at once.
GROWING = advised(recommended(target=("2", "2Gi"), lower=("1500m", "1Gi"), upper=("3", "3Gi")))


def used(count):
    """The usage of so many pods: without it nothing is scaled down."""
    return [sample(index, "380m", "300Mi") for index in range(count)]


# For machines.


def test_a_vpa_as_the_schema_has_it(tmp_path):
    """It has the current size, the size of new pods, the action per pod, and the status as upstream writes it."""
    objects = [vpa(generation=4), CHECKPOINT, *fleet(2, box(limits=sized("2"))), *used(2)]
    result = document(tmp_path, *objects)
    found = result.of()
    assert (result.status, result.err) == (0, "")
    assert found["target"] == {**TARGET, "namespace": "shop"}
    assert found["current"] == {
        "replicas": 2,
        "resources": {"app": {"requests": sized("1", "1Gi"), "limits": sized("2")}},
    }
    assert found["desired"] == {
        "replicas": 2,
        "resources": {"app": {"requests": sized("410m", "1470157273"), "limits": sized("820m")}},
    }
    assert [(one["pod"], one["action"]) for one in found["pods"]] == [("web-0", "evict"), ("web-1", "none")]
    assert found["pods"][0]["resources"] == found["desired"]["resources"]
    assert found["status"] == {
        "observedGeneration": 4,
        "conditions": [
            {
                "type": "RecommendationProvided",
                "status": "True",
                "reason": "",
                "message": "",
                "lastTransitionTime": ago(0),
            }
        ],
        "recommendation": {
            "containerRecommendations": [
                {
                    "containerName": "app",
                    "lowerBound": sized("409m", "1469737338"),
                    "target": sized("410m", "1470157273"),
                    "uncappedTarget": sized("410m", "1470157273"),
                    "upperBound": sized("468m", "1680169323"),
                }
            ]
        },
    }
    assert [event["reason"] for event in found["events"]] == ["EvictedPod"]
    VALIDATOR.validate(result.json)


def test_an_hvpa_as_the_schema_has_it(tmp_path):
    """It has both axes, and the reason names its source."""
    child = vpa("Off", name="child", status=advised(recommended(target=("3", "3Gi"))))
    result = document(tmp_path, hvpa(), child, *fleet(2, box(limits=sized(memory="2Gi"))))
    found = result.of(kind="Hvpa")
    assert (result.status, result.err) == (0, "")
    assert found["current"]["replicas"] == 2
    assert found["desired"] == {
        "replicas": 3,
        "resources": {"app": {"requests": sized("2", "2Gi"), "limits": sized(memory="4Gi")}},
    }
    assert found["reason"] == "cpu of app needs 6 in total (vpa)"
    assert "pods" not in found
    VALIDATOR.validate(result.json)


def test_json_and_yaml_say_the_same(tmp_path):
    """Both documents are equal and match the schema."""
    path = written(tmp_path, vpa(), hvpa(), CHECKPOINT, *fleet(2))
    texts = [hypot("-f", path, "-o", output) for output in ("json", "yaml")]
    documents = [json.loads(texts[0].out), yaml.safe_load(texts[1].out)]
    assert documents[0] == documents[1]
    VALIDATOR.validate(documents[1])


@pytest.mark.parametrize(
    "objects",
    [
        [vpa(), *fleet(2)],
        [vpa()],
        [vpa("Never"), *fleet(2)],
        [vpa(), CHECKPOINT, workload("Deployment", 0)],
        [hvpa(), *fleet(2)],
        [hvpa()],
        [hvpa(scalingIntervals=[]), *fleet(2)],
        [hvpa(), CHECKPOINT, workload("Deployment", 0)],
        [vpa(status=GROWING), limit_range(max=sized("1")), *fleet(3, box(limits=sized("1")))],
    ],
)
def test_every_outcome_matches_the_schema(objects, tmp_path):
    """Undecided, held or at zero replicas: the document always matches the schema."""
    found = document(tmp_path, *objects).json
    assert found["decisions"]
    VALIDATOR.validate(found)


# For people.


def test_a_vpa_as_text(tmp_path):
    """The text has the action, its source, the pods and the advice."""
    result = ran(tmp_path, vpa(), CHECKPOINT, *fleet(2), *used(2))
    lines = result.out.splitlines()
    assert (result.status, result.err) == (0, "")
    assert "shop/web  VPA → Deployment/web  ◆ 2 → 2  1 of 2 pods evicted" in lines
    assert any(
        line.startswith("    recommend         app, by the histograms of usage: cpu 410m (409m to ") for line in lines
    )
    assert any(
        line.startswith("    restrain          web-0: cpu of app is 1, above its upper bound of 468m") for line in lines
    )
    assert "    advised    app: cpu 1 → 410m, memory 1Gi → ~1.369Gi" in lines
    assert "1 autoscaler: 1 resize." in lines


def test_a_vpa_without_usage(tmp_path):
    """As the controller, it makes nothing smaller; histograms do not notice pods that are not measured."""
    result = ran(tmp_path, vpa(), CHECKPOINT, *fleet(2), sample(0, "380m", "300Mi"))
    assert "hold: pods without a fresh sample of usage: web-1, 1 in all" in result.out
    assert "1 autoscaler: 1 hold." in result.out


def test_every_verdict_in_the_summary(tmp_path):
    """Up, down, resize, hold and undecided are counted by name; an undecided autoscaler makes the exit status 1."""

    def of(name, *advice):
        target = {**TARGET, "name": name}
        sizer = vpa("Off", name=f"{name}-child", target=target, status=advised(*advice))
        made_of = workload("Deployment", 2, name=name)
        made_of["spec"]["selector"]["matchLabels"] = {"app": name}
        pods = json.loads(json.dumps([*fleet(2), *used(2)]).replace("web", name))
        return [hvpa(name=name, targetRef=target), sizer, made_of, *pods]

    objects = [
        *of("up", recommended(target=("3", "3Gi"))),
        *of("down", recommended(target=("100m", "100Mi"))),
        *of("resize", recommended(target=("1100m", "1Gi"))),
        *of("lost"),
    ]
    result = ran(tmp_path, *objects)
    assert result.status == 1
    verdicts = {
        line.split()[0].removeprefix("shop/"): line.split()[4] for line in result.out.splitlines() if "Hvpa →" in line
    }
    assert verdicts == {"up": "▲", "down": "▼", "resize": "◆", "lost": "✗"}
    assert "8 autoscalers: 1 up, 1 down, 1 resize, 3 hold, 2 undecided." in result.out.splitlines()


def outcomes():
    sizer = vpa(status=GROWING)
    child = vpa("Off", name="child", status=advised(recommended(target=("3", "3Gi"))))
    objects = [sizer, child, hvpa(), node(), *fleet(9), *(sample(i, "990m", "1023Mi") for i in range(9))]
    chosen = [("web", "VerticalPodAutoscaler"), ("child", "VerticalPodAutoscaler"), ("web", "Hvpa")]
    return [Verdict(decided(*objects, name=name, kind=kind), Source("dump.yaml", 1)) for name, kind in chosen]


@pytest.mark.parametrize("width", [60, 80, 110])
def test_nothing_is_wider_than_the_screen(width):
    """No line exceeds the width or ends in a blank."""
    lines = list(report(outcomes(), Glyphs(), width))
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    assert summary(outcomes()) == "3 autoscalers: 1 down, 1 resize, 1 hold."


def test_the_sign_of_a_resize_has_a_plain_form():
    """An ASCII stream gets `*`."""
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    lines = list(report(outcomes(), verdict.glyphs_for(plain), 110))
    assert lines[0].startswith("shop/web    VPA -> Deployment/web   * 9 -> 9  4 of 9 pods evicted")


def test_plain_ascii_where_the_stream_cannot_do_more():
    """Arrows become `->`, never question marks."""
    command = [sys.executable, "-c", "from hypot.cli.main import main; main()", "decide", "-f", str(EXAMPLE)]
    found = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    text = found.stdout.decode("ascii")
    assert (found.returncode, found.stderr) == (0, b"")
    assert "->" in text
    assert "?" not in text


def test_no_colours_off_a_terminal(tmp_path):
    """A file or a pipe gets no colours."""
    assert "\x1b" not in ran(tmp_path, vpa(), hvpa(), CHECKPOINT, *fleet(2)).out


def test_colours_of_a_resize():
    """On a terminal the verdict is coloured."""
    first = next(iter(report(outcomes(), Glyphs(colour=True), 110)))
    assert "\x1b[" in first
    assert "◆" in first


def test_amounts_are_short_enough_to_read(tmp_path):
    """No number in the text has eight or more digits."""
    out = ran(tmp_path, vpa(), CHECKPOINT, *fleet(2, box(cpu="410m", memory="1Gi"))).out
    assert re.findall(r"\d{8,}", out.partition("\n")[2]) == []


def test_why_there_is_nothing_to_do_without_pods(tmp_path):
    """The message says that no pods match, not that the size is right."""
    result = ran(tmp_path, vpa(), CHECKPOINT, workload("Deployment", 0))
    assert result.status == 0
    assert "the size is right" not in result.out
    assert "no pods" in result.out.lower()


def test_a_size_at_its_maximum_is_not_called_right(tmp_path):
    """The message says what limits it."""
    child = vpa("Off", name="child", status=advised(recommended(target=("30", "1Gi"))))
    intervals = [{"maxReplicas": 2, "maxResources": {"cpu": "2", "memory": "4Gi"}}]
    pods = fleet(2, box(cpu="2", memory="1Gi", limits=sized(memory="2Gi")))
    out = ran(tmp_path, hvpa(scalingIntervals=intervals), child, *pods).out
    assert "the size is right" not in out
    assert "hold: limited: cpu of app exceeds the last interval's maximum of 4" in " ".join(out.split())


# Invalid input.


def test_what_is_wrong_with_a_vpa(tmp_path):
    """The error is reported with its line, and nothing is decided."""
    result = ran(tmp_path, vpa("Sometimes"), CHECKPOINT, *fleet(2))
    assert result.status == 1
    assert "✗ undecided: the object is not valid: spec.updatePolicy.updateMode" in result.out
    problems = document(tmp_path, vpa("Sometimes"), CHECKPOINT, *fleet(2)).of()["problems"]
    text = (tmp_path / "dump.yaml").read_text(encoding="utf-8").splitlines()
    assert [text[one["line"] - 1].strip() for one in problems] == ["updateMode: Sometimes"]


def test_all_that_is_wrong_with_an_hvpa(tmp_path):
    """All errors are reported at once."""
    broken = hvpa(
        scalingIntervals=[
            {"maxReplicas": 3, "maxResources": sized("1", "1Gi")},
            {"maxReplicas": 2, "maxResources": sized("4", "4Gi")},
        ],
        scaleUp={"updatePolicy": {"updateMode": "Sometimes"}},
    )
    found = document(tmp_path, broken, CHECKPOINT, *fleet(2))
    assert found.status == 1
    one = found.of(kind="Hvpa")
    assert not one["decided"]
    assert all(word in one["error"] for word in ("scalingIntervals[1].maxReplicas", "updateMode"))
    assert {problem["field"] for problem in one["problems"] if problem["severity"] == "error"} == {
        "spec.scalingIntervals[1].maxReplicas",
        "spec.scaleUp.updatePolicy.updateMode",
    }
    assert one["status"]["conditions"][0]["reason"] == "InvalidSpec"


def test_a_weight_based_manifest(tmp_path):
    """It is checked but not decided, and the error says what to write."""
    weights = [{"vpaWeight": 100, "startReplicaCount": 1, "lastReplicaCount": 4}]
    old = hvpa(scalingIntervals=None, weightBasedScalingIntervals=weights)
    one = document(tmp_path, old, CHECKPOINT, *fleet(2)).of(kind="Hvpa")
    assert not one["decided"]
    assert "weightBasedScalingIntervals" in one["error"]
    assert "scalingIntervals" in one["error"].replace("weightBasedScalingIntervals", "")


def test_a_misspelt_key_of_an_hvpa_is_not_guessed(tmp_path):
    """Half an overlap is not what was asked for: nothing is decided, and the error suggests the right key."""
    result = ran(tmp_path, hvpa(scalingIntervalsOverlap={"cpu": {"percentate": 30}}), CHECKPOINT, *fleet(2))
    assert result.status == 1
    assert "percentage" in result.out


def test_a_field_of_a_newer_version(tmp_path):
    """A newer cluster may have fields unknown here: they are reported, and the rest is decided."""
    result = ran(tmp_path, vpa(spec={"laterField": 1}), CHECKPOINT, *fleet(2))
    assert "laterField" in result.out
    assert result.status == 0


@pytest.mark.parametrize("annotation", ["hypot.dev/safety-margn", "hypot.dev/round-cpu"])
def test_a_knob_that_is_wrong(annotation, tmp_path):
    """The bad knob is reported, and the command decides as the policy does."""
    objects = [vpa(annotations={annotation: "much"}), CHECKPOINT, *fleet(2)]
    found = document(tmp_path, *objects).of()
    assert [problem["field"].endswith(annotation) for problem in found["problems"]] == [True]
    assert found["decided"] == decided(*objects).decided


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vpa: {safetyMargn: 0}", "did you mean safetyMargin?"),
        ("vpa: {bogus: 0}", "bogus: unknown knob"),
        ("vpa: {safetyMargin: much}", "safetyMargin: 'much'"),
        ("vpa: {targetCpuPercentile: 1.5}", "targetCpuPercentile"),
        ("vpa: {cpuHalfLife: 0}", "cpuHalfLife"),
        ("vpa: [1]", "vpa: write a mapping"),
        ("vpa: 7", "vpa: write a mapping"),
    ],
)
def test_settings_that_cannot_be_used(text, message, tmp_path):
    """The error names the knob, without a traceback."""
    file = tmp_path / "settings.yaml"
    file.write_text(text, encoding="utf-8")
    result = ran(tmp_path, vpa(), CHECKPOINT, *fleet(2), args=("--settings", file))
    assert result.status == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_settings_are_flags_of_the_vertical_autoscaler(tmp_path):
    """Flags are set by name, and the output lists them."""
    file = tmp_path / "settings.yaml"
    file.write_text("vpa: {safetyMargin: 0, podMinCpu: 500m, minReplicas: 1, cpuHalfLife: 3600}", encoding="utf-8")
    found = document(tmp_path, vpa(), CHECKPOINT, *fleet(1), *used(1), args=("--settings", file))
    assert found.of()["desired"]["resources"]["app"]["requests"]["cpu"] == "500m"
    assert found.of()["pods"][0]["action"] == "evict"
    settings = found.json["settings"]["vpa"]
    assert (settings["safetyMargin"], settings["podMinCpu"], settings["cpuHalfLife"]) == (0, "500m", 3600)


def test_an_edit_of_the_hpa_alone_is_not_a_hold(tmp_path):
    """The summary, the headline and the JSON say that the HPA of a Tortoise changes."""
    by_cpu = tortoise_world.tortoise(autoscalingPolicy=tortoise_world.BY_CPU)
    there = tortoise_world.World(hpa=None, tortoise=by_cpu)
    [decision] = document(tmp_path, *there.objects()).json["decisions"]
    assert (decision["verdict"], decision["hpa"]["exists"]) == ("edit", False)
    one = Verdict(there.decided(), Source("dump.yaml", 1))
    assert one.verdict == "edit"
    assert summary([one]) == "1 autoscaler: 1 edit."
    headline = next(iter(report([one], Glyphs(), 110)))
    assert headline == "shop/web  Tortoise → Deployment/web  ◇ 4 → 4  the HPA gets 3 to 6 replicas"
    there.step()
    assert Verdict(there.decided(), Source("dump.yaml", 1)).verdict == "hold"
    # Without a state, the bounds of its HPA are those of the first day.
    assert document(tmp_path, *there.objects()).of(kind="Tortoise")["verdict"] == "edit"


@pytest.mark.parametrize("edits", [True, False])
def test_no_hpa_is_made_next_to_another_one(tmp_path, edits):
    """Hypot run does not make one either; the decision names the other HPA. One that is named may be edited."""
    other = tortoise_world.hpa(3, 20, name="theirs")
    refs = {"horizontalPodAutoscalerName": "theirs"} if edits else {}
    one = tortoise_world.tortoise(refs=refs, autoscalingPolicy=tortoise_world.BY_CPU)
    found = document(tmp_path, *tortoise_world.World(hpa=other, tortoise=one).objects()).of(kind="Tortoise")
    assert found["verdict"] == "hold"
    assert (found.get("hpa") is not None) is edits
    held = [step for step in found["steps"] if step["rule"] == "conflict"]
    assert bool(held) is not edits


def test_a_hold_at_the_maximum_says_so():
    """Or that nothing is known: the size is not simply right."""
    usual = {"replicas": 6, "demand": {"app": 6000}, "hpa": tortoise_world.hpa(3, 6, name="theirs")}
    refs = {"horizontalPodAutoscalerName": "theirs"}
    one = tortoise_world.tortoise(refs=refs, autoscalingPolicy=tortoise_world.BY_CPU)
    texts = [
        next(iter(report([Verdict(there.decided(), Source("dump.yaml", 1))], Glyphs(), 200)))
        for there in (
            tortoise_world.World(tortoise=one, state=State(), **usual, **more) for more in ({}, {"measured": 0})
        )
    ]
    assert "hold: cpu of app needs more than 6 replicas of this size, which is the maximum" in texts[0]
    assert "hold: what is needed now is unknown" in texts[1]

"""hypot decide, from the command line to its exit status."""

import io
import json
import os
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import jsonschema
import pytest
import yaml

from hypot.cli import terminal, verdict
from hypot.cli.statefile import write_state
from hypot.policy.continuity import Remembered
from hypot.policy.model.state import State
from unit.cli.command import hypot as run_hypot
from unit.cli.command import schema

EXAMPLE = str(Path(__file__).resolve().parents[3] / "examples" / "shop.yaml")
SCHEMA = schema("decide")
hypot = partial(run_hypot, "decide")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
HPA = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"scaleTargetRef": REF, "minReplicas": 1, "maxReplicas": 9, "metrics": [CPU]},
}


def test_a_misspelt_kind_is_reported(tmp_path):
    """The others are decided, and the exit status says that something is missing."""
    wrong = {**HPA, "kind": "HorizontalPodAutoscalr", "metadata": {"name": "api", "namespace": "shop"}}
    file = written(tmp_path, wrong, *world())
    result = hypot("-f", str(file))
    assert result.status == 1
    message = "autoscaling/v2 has no kind HorizontalPodAutoscalr; did you mean HorizontalPodAutoscaler?"
    assert f"{file}:1: {message}\n" in result.err
    assert hypot("-f", str(written(tmp_path, *world()))).status == 0
    assert message in hypot("-f", str(written(tmp_path, wrong))).err


def written(folder, *objects, name="dump.yaml"):
    path = folder / name
    path.write_text("---\n".join(yaml.safe_dump(one) for one in objects), encoding="utf-8")
    return path


def world(replicas=2, cpu="100m", at="2026-03-02T09:30:00Z", **changes):
    """A deployment at 20 % cpu of its requests, with an autoscaler of target 50 %."""
    labels = {"app": "web"}
    hpa = {**HPA, **changes}
    deploy = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    deploy |= {"spec": {"replicas": replicas, "selector": {"matchLabels": labels}}, "status": {"replicas": replicas}}
    objects = [hpa, deploy]
    for i in range(replicas):
        metadata = {"name": f"web-{i}", "namespace": "shop", "labels": labels}
        container = {"name": "app", "resources": {"requests": {"cpu": "500m"}}}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T00:00:09Z"}
        status = {"phase": "Running", "startTime": "2026-03-01T00:00:00Z", "conditions": [ready]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        sample = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "timestamp": at, "window": "15s"}
        usage = [{"name": "app", "usage": {"cpu": cpu}}]
        objects += [pod | {"status": status}, sample | {"metadata": metadata, "containers": usage}]
    return objects


# Deciding.


def test_the_example_as_text():
    """A scale-up, a stabilisation hold and a value within its band have a line each; no line exceeds 110 columns."""
    result = hypot("-f", EXAMPLE)
    assert result.status == 0
    assert result.err == ""
    lines = result.out.splitlines()
    assert lines[0] == "2026-03-02T09:30:00Z, the newest time in the input; Kubernetes 1.37"
    assert any(line.startswith("shop/checkout  HPA → Deployment/checkout  ▲ 3 → 5 ") for line in lines)
    assert any(line.startswith("shop/search    HPA → Deployment/search      3 → 3  hold: the window") for line in lines)
    assert any(
        line.startswith("shop/orders    WPA → Deployment/orders      2 → 2  hold: the metrics") for line in lines
    )
    assert "    thresholds at 3 replicas: above 116 % cpu asks for more than 5, below 94 % for fewer" in lines
    assert "3 autoscalers: 1 up, 2 hold." in lines
    assert "--state" in lines[-1]
    assert max(map(len, lines)) <= 110
    assert "\x1b" not in result.out


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_example_for_machines(output, read):
    """JSON and YAML hold the same decisions and match the published schema."""
    result = hypot("-f", EXAMPLE, "-o", output)
    document = read(result.out)
    VALIDATOR.validate(document)
    assert (result.status, result.err) == (0, "")
    assert (document["now"], document["nowFrom"]) == ("2026-03-02T09:30:00Z", "input")
    sizes = {
        d["autoscaler"]["name"]: (d["current"]["replicas"], d["desired"]["replicas"]) for d in document["decisions"]
    }
    assert sizes == {"checkout": (3, 5), "search": (3, 3), "orders": (2, 2)}
    keys = {"autoscaler", "target", "current", "desired", "steps", "conditions", "events", "problems"}
    assert all(keys <= set(decision) for decision in document["decisions"])


def test_the_schema_is_a_schema():
    """The schema is valid, and it refuses an unknown key in our own structures."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = hypot("-f", EXAMPLE, "-o", "json").json
    document["decisions"][0]["steps"][0]["surprise"] = 1
    assert not VALIDATOR.is_valid(document)


def test_from_stdin():
    """A dump can be piped in."""
    result = hypot("-f", "-", "-o", "json", text=Path(EXAMPLE).read_text(encoding="utf-8"))
    assert (result.status, len(result.json["decisions"])) == (0, 3)


def test_from_a_directory_and_several_files(tmp_path):
    """All files count as one input, whichever file an object is in."""
    hpa, *rest = world()
    folder = tmp_path / "dump"
    folder.mkdir()
    written(folder, *rest[:3], name="a.yaml")
    written(folder, *rest[3:], name="b.yml")
    result = hypot("-f", folder, "-f", written(tmp_path, hpa), "-o", "json")
    assert (result.status, result.json["decisions"][0]["decided"]) == (0, True)


def test_one_namespace(tmp_path):
    """Only its autoscalers are decided; if it has none, the error names the namespaces that do."""
    other = {**HPA, "metadata": {"name": "web", "namespace": "other"}}
    path = written(tmp_path, *world(), other)
    assert [d["autoscaler"]["namespace"] for d in hypot("-f", path, "-n", "shop", "-o", "json").json["decisions"]] == [
        "shop"
    ]
    none = hypot("-f", path, "-n", "nowhere")
    assert none.status == 2
    assert "no autoscaler in namespace nowhere; there are some in other, shop" in none.err


@pytest.mark.parametrize("now", ["2026-03-02T10:00:00Z", "2026-03-02T11:00:00+01:00", "1772445600", "1772445600.0"])
def test_a_time_given(now):
    """The time is RFC 3339 or seconds since 1970."""
    document = hypot("-f", EXAMPLE, "--now", now, "-o", "json").json
    assert (document["now"], document["nowFrom"]) == ("2026-03-02T10:00:00Z", "given")


def test_an_input_without_times(tmp_path):
    """Plain manifests have no time of their own: the clock is used, and the output says so."""
    result = hypot("-f", written(tmp_path, HPA), "-o", "json")
    assert (result.status, result.json["nowFrom"]) == (1, "clock")
    assert "the time of the clock" in hypot("-f", written(tmp_path, HPA)).out


def test_the_version_given_wins_over_the_file(tmp_path):
    """Settings come from a file; a flag overrides the version."""
    settings = tmp_path / "settings.yaml"
    settings.write_text("kubernetes: '1.33'\ntolerance: 0.5\ngates: {HPAConfigurableTolerance: true}\n")
    found = hypot("-f", EXAMPLE, "--settings", settings, "-o", "json").json["settings"]
    assert (found["kubernetes"], found["tolerance"], found["gates"]) == (
        "1.33",
        0.5,
        {"HPAConfigurableTolerance": True},
    )
    found = hypot("-f", EXAMPLE, "--settings", settings, "--kubernetes", "v1.35.2", "-o", "json").json["settings"]
    assert (found["kubernetes"], found["tolerance"]) == ("1.35", 0.5)


def test_an_old_version_is_read(tmp_path):
    """autoscaling/v1 is decided like any other version."""
    spec = {"scaleTargetRef": REF, "maxReplicas": 9, "targetCPUUtilizationPercentage": 10}
    path = written(tmp_path, *world(apiVersion="autoscaling/v1", spec=spec))
    decision = hypot("-f", path, "-o", "json").json["decisions"][0]
    assert (decision["current"]["replicas"], decision["desired"]["replicas"]) == (2, 4)


def test_one_undecided_does_not_hide_the_others(tmp_path):
    """The exit status is 1, and the output has both autoscalers."""
    lost = {**HPA, "metadata": {"name": "lost", "namespace": "shop"}}
    lost["spec"] = {**HPA["spec"], "scaleTargetRef": {**REF, "name": "lost"}}
    path = written(tmp_path, *world(), lost)
    result = hypot("-f", path)
    assert result.status == 1
    assert "shop/lost  HPA → Deployment/lost  ✗ undecided: " in result.out
    assert "kubectl get deploy lost -n shop -o yaml" in result.out.replace("\n", " ").replace("  ", "")
    assert "2 autoscalers: 1 hold, 1 undecided." in result.out


def test_an_invalid_object_is_not_decided(tmp_path):
    """Its problems are reported with file and line, and no size is decided."""
    spec = {**HPA["spec"], "maxReplicas": "many", "minReplica": 2}
    path = written(tmp_path, *world(spec=spec))
    decision = hypot("-f", path, "-o", "json").json["decisions"][0]
    assert decision["decided"] is False
    assert decision["steps"] == []
    assert decision["current"] == decision["desired"] == {"replicas": None}
    places = {p["field"]: (p["file"], p["line"]) for p in decision["problems"]}
    lines = path.read_text(encoding="utf-8").splitlines()
    for field, word in (("spec.maxReplicas", "maxReplicas: many"), ("spec.minReplica", "minReplica: 2")):
        assert places[field] == (str(path), lines.index(f"  {word}") + 1)
    result = hypot("-f", path)
    assert result.status == 1
    assert "✗ undecided: the object is not valid: spec.maxReplicas: " in result.out
    assert f"    error      {path}:" in result.out


def test_placeholders_are_one_problem(tmp_path):
    """What is filled in later is not judged; without it there is no decision, and the hint says what to do."""
    spec = {**HPA["spec"], "maxReplicas": "${MAX}", "minReplicas": "<MIN>", "metrics": "cpu"}
    metadata = {"name": "${APP}", "namespace": "shop"}
    path = written(tmp_path, *world(spec=spec, metadata=metadata))
    (decision,) = hypot("-f", path, "-o", "json").json["decisions"]
    assert [one["field"] for one in decision["problems"]] == ["", "spec.metrics"]
    assert decision["problems"][0]["message"] == "${APP}, <MIN> and ${MAX} are filled in later"
    assert "fill in the placeholders" in hypot("-f", path).out
    spec = {**HPA["spec"], "maxReplcas": "${MAX}"}
    (decision,) = hypot("-f", written(tmp_path, *world(spec=spec)), "-o", "json").json["decisions"]
    assert (decision["decided"], decision["problems"][0]["rule"]) == (True, "unknown-field")


def test_an_error_of_a_band_is_left_to_its_policy(tmp_path):
    """The API server accepts nearly any WPA; the controller refuses this WPA, and so does the decision."""
    wpa = {"apiVersion": "datadoghq.com/v1alpha1", "kind": "WatermarkPodAutoscaler"}
    wpa |= {"metadata": {"name": "band", "namespace": "shop"}, "spec": {"scaleTargetRef": REF, "maxReplicas": 0}}
    decision = hypot("-f", written(tmp_path, *world()[1:], wpa), "-o", "json").json["decisions"][0]
    assert decision["decided"] is False
    assert decision["problems"]
    assert decision["events"][0]["reason"] == "FailedSpecCheck"


def test_a_dry_run_is_reported(tmp_path):
    """The size it would set is shown and marked as a dry run."""
    example = [*yaml.safe_load_all(Path(EXAMPLE).read_text(encoding="utf-8"))]
    band = next(item for item in example[0]["items"] if item["kind"] == "WatermarkPodAutoscaler")
    band["spec"] |= {"dryRun": True}
    band["spec"]["metrics"][0]["external"] |= {"highWatermark": "300", "lowWatermark": "100"}
    result = hypot("-f", written(tmp_path, *example))
    assert result.status == 0
    assert "WPA → Deployment/orders    ▲ 2 → 3  dry run: queue_messages_ready" in result.out


def test_a_target_at_zero_stays_off(tmp_path):
    """A target manually set to zero is held, with the reason in the first line."""
    result = hypot("-f", written(tmp_path, *world(replicas=0)))
    assert result.status == 0
    assert "shop/web  HPA → Deployment/web    0 → 0  hold: the target was set to zero replicas" in result.out


def test_a_ratio_to_no_pods_is_null(tmp_path):
    """Infinity is not valid JSON: it becomes null."""
    target = {"type": "AverageValue", "averageValue": "10"}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}
    hpa, deploy, *pods = world(spec={**HPA["spec"], "metrics": [metric]})
    deploy["status"] = {}
    value = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue", "metricName": "queue"}
    result = hypot("-f", written(tmp_path, hpa, deploy, *pods, value | {"value": "50"}), "-o", "json")
    assert result.json["decisions"][0]["steps"][0]["numbers"]["ratio"] is None
    assert result.json["decisions"][0]["desired"]["replicas"] == 4


def test_ignored_kinds_are_counted(tmp_path):
    """They are on stderr, for text output only; also custom kinds that are not a target."""
    others = [{"apiVersion": "v1", "kind": "Secret"}, {"apiVersion": "v1", "kind": "Secret"}]
    others += [{"apiVersion": "example.dev/v1", "kind": "Gadget"}]
    path = written(tmp_path, *world(), *others)
    assert hypot("-f", path).err == "ignored: 1 Gadget, 2 Secret\n"
    assert hypot("-f", path, "-o", "json").err == ""


def test_an_autoscaler_that_comes_twice(tmp_path):
    """The last object counts, and a message says so."""
    path = written(tmp_path, *world(), {**HPA, "spec": {**HPA["spec"], "minReplicas": 3}})
    result = hypot("-f", path, "-o", "json")
    assert f"shop/web is in the input twice, {path}:1 and {path}:" in result.err
    assert [d["desired"]["replicas"] for d in result.json["decisions"]] == [3]


def test_an_autoscaler_that_comes_often(tmp_path):
    """One message for each, however often it comes."""
    path = written(tmp_path, *world(), HPA, HPA, HPA)
    result = hypot("-f", path)
    (message,) = [line for line in result.err.splitlines() if "is in the input" in line]
    assert message.startswith(f"shop/web is in the input 4 times, such as {path}:1 and {path}:")
    assert message.endswith(": the last one counts")


@pytest.mark.parametrize(
    ("repeated", "last"),
    [
        (3, "shop/web2 is in the input twice"),
        (4, "another object is in the input several times: name"),
        (40, "37 other objects are in the input several times: name"),
    ],
)
def test_many_repeated_objects_are_counted(tmp_path, repeated, last):
    """A repository of examples has most of its objects several times."""
    hpas = [{**HPA, "metadata": {**HPA["metadata"], "name": f"web{i}"}} for i in range(repeated)] * 2
    lines = [line for line in hypot("-f", written(tmp_path, *hpas)).err.splitlines() if "in the input" in line]
    assert len(lines) == min(repeated, 4)
    assert lines[-1].startswith(last)


def test_a_link_that_leads_nowhere_is_a_file(tmp_path):
    """It names no object, also if its path looks like KIND/NAME."""
    link = tmp_path / "web.yaml"
    link.symlink_to("nowhere")
    result = hypot(str(link))
    assert result.status == 2
    assert f"{link}: cannot read it: No such file" in result.err


def test_many_ignored_kinds_are_not_listed(tmp_path):
    """The most frequent ones are."""
    others = [{"apiVersion": "v1", "kind": f"Kind{i}"} for i in range(20) for _ in range(i + 1)]
    shown = hypot("-f", written(tmp_path, *world(), *others)).err
    assert shown.startswith("ignored: 20 Kind19, 19 Kind18, ")
    assert shown.endswith(", 14 Kind13 and 13 other kinds\n")


MANIFEST = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
MEMORY = {"type": "AverageValue", "averageValue": "512Mi"}
QUEUE = {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}
METRICS = [
    CPU,
    {"type": "Resource", "resource": {"name": "memory", "target": MEMORY}},
    {"type": "ContainerResource", "containerResource": {**CPU["resource"], "container": "app"}},
    {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
    {"type": "External", "external": QUEUE},
]


def test_manifests_alone_say_at_which_values_an_hpa_asks_for_more(tmp_path):
    """The input has no pods and no metrics: one line says so, and the count is undecided."""
    hpa = {**HPA, "spec": {**HPA["spec"], "minReplicas": 2, "metrics": METRICS}}
    deploy = {**MANIFEST, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}}}
    result = hypot("-f", written(tmp_path, hpa, deploy))
    assert result.status == 1
    assert result.out.splitlines()[1:] == [
        "The input has manifests only, no pods and no values of metrics; --live reads a cluster.",
        "",
        "shop/web  HPA → Deployment/web  ✗ undecided: no values of its metrics in the input",
        "    thresholds at 2 replicas: above 55 % cpu asks for more than the minimum of 2",
        "    thresholds at 2 replicas: above 590558003 memory per pod asks for more than the minimum of 2",
        "    thresholds at 2 replicas: above 55 % cpu of container app asks for more than the minimum of 2",
        "    thresholds at 2 replicas: above 11 hits per pod asks for more than the minimum of 2",
        "    thresholds at 2 replicas: above 33 queue asks for more than the minimum of 2",
        "",
        "1 autoscaler: 1 undecided.",
    ]


@pytest.mark.parametrize(
    ("api_version", "kind"), [("v1", "Node"), ("example.dev/v1", "Widget"), ("apps/v1", "ReplicaSet"), ("v1", "Pod")]
)
def test_exported_objects_make_no_dump(tmp_path, api_version, kind):
    """A repository may have objects that were exported from a cluster, without the pods and their usage."""
    other = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "creationTimestamp": "2019-07-09T16:22:08Z"},
    }
    deploy = {**MANIFEST, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}}}
    exported = {**HPA, "metadata": {**HPA["metadata"], "creationTimestamp": "2019-07-09T16:22:08Z"}}
    shown = hypot("-f", written(tmp_path, exported, deploy, other)).out
    first, second, *_ = shown.splitlines()
    assert "2019" not in first
    assert "the time of the clock" in first
    assert second.startswith("The input has manifests only")


def test_they_are_the_values_of_a_decision_at_its_target(tmp_path):
    """With two pods at 50 % of their requests, the same HPA asks for more above the same value."""
    hpa, deploy, *_ = world(replicas=2, spec={**HPA["spec"], "minReplicas": 2})
    deploy.pop("status")
    without = hypot("-f", written(tmp_path, hpa, deploy)).out
    dump = hypot("-f", written(tmp_path, *world(cpu="250m", spec=hpa["spec"]))).out
    line = "    thresholds at 2 replicas: above 55 % cpu asks for more than the minimum of 2\n"
    assert line in without
    assert line in dump


def test_manifests_below_the_minimum(tmp_path):
    """What is decided without metrics is decided, and the thresholds are those of the default metric."""
    spec = {"scaleTargetRef": REF, "minReplicas": 3, "maxReplicas": 9}
    shown = hypot("-f", written(tmp_path, {**HPA, "spec": spec}, {**MANIFEST, "spec": {"selector": {}}})).out
    assert "▲ 1 → 3" in shown
    assert "    thresholds at 3 replicas: above 88 % cpu asks for more than the minimum of 3\n" in shown


def test_the_same_reason_is_given_once(tmp_path):
    """A target that is not in the input is the headline, and no step repeats it."""
    shown = hypot("-f", written(tmp_path, HPA)).out
    assert shown.count('deployments.apps "web" is not in the input') == 1


# Bad input: exit status 2, one line that says what to do, never a traceback.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n", "dump.yaml:3"),
        ("apiVersion: v1\nkind: Pod\n---\nkind: Pod\n", "an object without apiVersion"),
        ("- 1\n- 2\n", "expected an object"),
        ("\0", "dump.yaml"),
    ],
)
def test_input_that_cannot_be_used(tmp_path, text, says):
    """A file that is named must be read as a whole: a part of a dump would be decided as if it were everything."""
    path = tmp_path / "dump.yaml"
    path.write_text(text, encoding="utf-8")
    result = hypot("-f", path)
    assert (result.status, result.out) == (2, "")
    assert says in result.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is nothing in it"),
        ("# only a comment\n", "there is nothing in it"),
        ("apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Secret\n", "found only 1 Pod, 1 Secret"),
    ],
)
def test_input_without_an_autoscaler(tmp_path, text, says):
    """There is nothing wrong with the input, and nothing was decided."""
    path = tmp_path / "dump.yaml"
    path.write_text(text, encoding="utf-8")
    result = hypot("-f", path)
    assert (result.status, result.out) == (1, "")
    assert says in result.err


def test_a_folder_is_read_as_far_as_possible(tmp_path):
    """Files for other programs are counted; a broken manifest is reported, and shows in the exit status."""
    written(tmp_path, *world())
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: web\n", encoding="utf-8")
    whole = hypot("-f", tmp_path)
    assert "not read: 1 file without Kubernetes objects" in whole.err
    (tmp_path / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nspec: [\n", encoding="utf-8")
    result = hypot("-f", tmp_path)
    assert (result.status, result.out) == (1, whole.out)
    assert "deployment.yaml:3: the text ends where a value is expected" in result.err


def test_files_and_folders_without_a_flag(tmp_path, monkeypatch):
    """As with lint. After -f, every word is an object: a folder of that name changes nothing."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, *world())
    for arguments in ((".",), ("dump.yaml",), (".", "deployment/web"), ("hpa/web", "dump.yaml")):
        result = hypot(*arguments)
        assert (result.status, result.out) == (0, hypot("-f", "dump.yaml").out)
    text = (tmp_path / "dump.yaml").read_text(encoding="utf-8")
    assert hypot("-", text=text).out == hypot("-f", "dump.yaml").out
    (tmp_path / "deployment" / "web").mkdir(parents=True)
    assert hypot("-f", "dump.yaml", "deployment/web").status == 0
    assert "no .yaml, .yml or .json file" in hypot("deployment/web").err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name files or folders, as in `hypot decide .`, or read the cluster with --live"),
        (["deployment/web"], "name files or folders"),
        (["nowhere.yaml"], "'nowhere.yaml' is no file, and names no object; write KIND/NAME"),
        (["-f", "nowhere.yaml"], "nowhere.yaml"),
        (["-f", EXAMPLE, "--now", "yesterday"], "'yesterday' is not a time"),
        (["-f", EXAMPLE, "--now", "nan"], "'nan' is not a time"),
        (["-f", EXAMPLE, "--now", "-5"], "'-5' is not a time"),
        (["-f", EXAMPLE, "--now", "1772445600000"], "is not a time"),
        (["-f", EXAMPLE, "--kubernetes", "newest"], "'newest' is not a Kubernetes version"),
        (["-f", EXAMPLE, "--kubernetes", "1.5"], "the oldest version"),
        (["-f", EXAMPLE, "-o", "xml"], "'xml' is not one of"),
        (["-f", EXAMPLE, "--settings", "nowhere.yaml"], "nowhere.yaml: cannot read the settings"),
        (["-f", EXAMPLE, "--state", "nowhere/state.json"], "nowhere/state.json: cannot write the state"),
    ],
)
def test_bad_usage(arguments, says):
    """The message says what is wrong and with which argument."""
    result = hypot(*arguments)
    assert (result.status, result.out) == (2, "")
    assert says in result.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tolerence: 0.2\n", "tolerence: no such setting"),
        ("tolerance: much\n", "tolerance: 'much' is not a number"),
        ("gates: {Nonsense: true}\n", "Nonsense"),
        ("kubernetes: 1.30\n", "quote it in YAML"),
        ("- 1\n", "settings must be a mapping"),
        ("a: [\n", "not valid YAML"),
        ("\0", "not valid YAML"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path, text, says):
    """The message names the file and the setting."""
    path = tmp_path / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    result = hypot("-f", EXAMPLE, "--settings", path)
    assert (result.status, result.out) == (2, "")
    assert f"{path}:" in result.err
    assert says in result.err


def test_empty_settings_are_the_defaults(tmp_path):
    """A file with nothing in it changes nothing."""
    path = tmp_path / "settings.yaml"
    path.write_text("# nothing yet\n", encoding="utf-8")
    assert hypot("-f", EXAMPLE, "--settings", path).status == 0


# State.


def remembered(path):
    return json.loads(path.read_text(encoding="utf-8"))["autoscalers"]["HorizontalPodAutoscaler/shop/web"]


def test_state_is_kept_from_run_to_run(tmp_path):
    """A recommendation of an earlier run holds the target; after the window the target scales down."""
    state = tmp_path / "state.json"

    def run(minute, cpu):
        path = written(tmp_path, *world(replicas=4, cpu=cpu, at=f"2026-03-02T09:{minute:02}:00Z"))
        return hypot("-f", path, "--state", state, "-o", "json").json["decisions"][0]

    assert run(30, "250m")["desired"]["replicas"] == 4
    assert [entry["value"] for entry in remembered(state)["recommendations"]] == [4]
    assert remembered(state)["seen"] == {"replicas": 4, "at": 1772443800.0}
    held = run(31, "50m")
    assert held["desired"]["replicas"] == 4
    assert "earlier recommendations are not known" in held["unknown"][0]
    for minute in range(32, 36):
        assert run(minute, "50m")["desired"]["replicas"] == 4
    shrunk = run(36, "50m")
    assert (shrunk["desired"]["replicas"], shrunk["unknown"]) == (1, [])


def test_the_same_dump_twice_gives_the_same_state(tmp_path):
    """Deciding again at the same moment changes nothing."""
    state, path = tmp_path / "state.json", written(tmp_path, *world())
    runs = []
    for _ in range(3):
        result = hypot("-f", path, "--state", state, "-o", "json")
        runs.append((result.json["decisions"][0]["desired"], state.read_text(encoding="utf-8")))
    assert runs[0] == runs[1] == runs[2]


def test_a_move_between_two_dumps_is_an_event(tmp_path):
    """The cluster added two replicas: they use up the rate limit, and no part of its history is unknown."""
    policy = {"type": "Pods", "value": 2, "periodSeconds": 300}
    spec = {**HPA["spec"], "behavior": {"scaleUp": {"policies": [policy]}}}
    state = tmp_path / "state.json"
    able = {"type": "AbleToScale", "status": "True", "reason": "x", "lastTransitionTime": "2026-03-02T09:00:00Z"}
    first = world(replicas=2, cpu="250m", spec=spec, status={"conditions": [able]})
    assert hypot("-f", written(tmp_path, *first), "--state", state).status == 0
    status = {"conditions": [able], "lastScaleTime": "2026-03-02T09:31:00Z"}
    later = world(replicas=4, cpu="500m", at="2026-03-02T09:32:00Z", spec=spec, status=status)
    decision = hypot("-f", written(tmp_path, *later), "--state", state, "-o", "json").json["decisions"][0]
    assert remembered(state)["ups"] == [{"value": 2, "at": 1772443860.0}]
    assert (decision["desired"]["replicas"], decision["unknown"]) == (4, [])


def test_state_of_others_is_kept(tmp_path):
    """An autoscaler that is not in this dump keeps its state."""
    state = tmp_path / "state.json"
    write_state(str(state), {"HorizontalPodAutoscaler/other/api": Remembered(State(desired=5))})
    assert hypot("-f", written(tmp_path, *world()), "--state", state).status == 0
    kept = json.loads(state.read_text(encoding="utf-8"))["autoscalers"]
    assert kept["HorizontalPodAutoscaler/other/api"]["desired"] == 5
    assert len(kept) == 2


def test_dumps_out_of_order_are_refused(tmp_path):
    """State of a later time is refused and left unchanged."""
    state, path = tmp_path / "state.json", written(tmp_path, *world())
    hypot("-f", path, "--state", state)
    text = state.read_text(encoding="utf-8")
    result = hypot("-f", path, "--state", state, "--now", "2026-03-02T09:29:00Z")
    assert result.status == 2
    assert "in the order of their times" in result.err
    assert state.read_text(encoding="utf-8") == text


BAD_ENTRIES = [
    ('"x"', "a/b/c: must be an object"),
    ('{"ups": 5}', "ups must be null or a list"),
    ('{"downs": [{"at": 5}]}', "downs must be null or a list"),
    ('{"recommendations": [{"value": 1, "at": 1e999}]}', "recommendations must be null or a list"),
    ('{"lastScale": "yesterday"}', "must be times in seconds"),
    ('{"conditions": [{"since": 1e300}]}', "must be times in seconds"),
    ('{"seen": {"replicas": "two"}}', "must be whole numbers"),
    ('{"seen": 5}', "seen must be an object"),
]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", '"version" must be 1'),
        ('{"version": 2, "autoscalers": {}}', '"version" must be 1'),
        ('{"version": 1}', '"autoscalers" must be an object'),
        ('{"version": 1, "autoscalers": {"a": {"lastScale": NaN}}}', "not valid JSON"),
    ]
    + [(f'{{"version": 1, "autoscalers": {{"a/b/c": {entry}}}}}', says) for entry, says in BAD_ENTRIES],
)
def test_state_that_cannot_be_used(tmp_path, text, says):
    """The message names the file and what is wrong in it; the file stays unchanged."""
    state = tmp_path / "state.json"
    state.write_text(text, encoding="utf-8")
    result = hypot("-f", EXAMPLE, "--state", state)
    assert (result.status, result.out) == (2, "")
    assert f"{state}: not a state file of hypot" in result.err
    assert says in result.err
    assert state.read_text(encoding="utf-8") == text


def test_state_keeps_its_permissions_and_its_place(tmp_path):
    """A private file stays private, a link stays a link, and no temporary file is left."""
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    hypot("-f", EXAMPLE, "--state", real)
    assert stat.S_IMODE(real.stat().st_mode) & 0o400
    real.chmod(0o600)
    link.symlink_to(real)
    assert hypot("-f", EXAMPLE, "--state", link).status == 0
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "real.json"]


def test_an_interrupted_write_leaves_the_old_state(tmp_path, monkeypatch):
    """Ctrl-C during a write: exit status 130, the old file is intact, no temporary file is left."""
    state = tmp_path / "state.json"
    hypot("-f", EXAMPLE, "--state", state)
    text = state.read_text(encoding="utf-8")

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    assert hypot("-f", EXAMPLE, "--state", state, "--now", "2026-03-02T10:00:00Z").status == 130
    assert state.read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_state_is_not_a_directory(tmp_path):
    """A directory in place of the state file is refused."""
    result = hypot("-f", EXAMPLE, "--state", tmp_path)
    assert result.status == 2
    assert f"{tmp_path}: cannot read the state" in result.err


# The terminal.


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_colours_only_where_they_are_wanted(monkeypatch):
    """Colour is used on a terminal, unless NO_COLOR or TERM=dumb says otherwise."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert verdict.glyphs_for(Screen()).colour
    assert not verdict.glyphs_for(io.StringIO()).colour
    monkeypatch.setenv("TERM", "dumb")
    assert not verdict.glyphs_for(Screen()).colour
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not verdict.glyphs_for(Screen()).colour


def test_signs_that_the_stream_can_show():
    """The output is ASCII where the stream cannot encode more."""
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert verdict.glyphs_for(plain).arrow == "->"
    assert terminal.safe_for(plain, "a → b") == "a ? b"
    assert verdict.glyphs_for(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")).arrow == "→"


def test_control_characters_of_the_input_do_not_reach_the_terminal(tmp_path):
    """A name in a dump may contain any character."""
    path = written(tmp_path, *world(), {**HPA, "metadata": {"name": "a\x1b[31mb\nc", "namespace": "shop"}})
    assert "shop/a?[31mb c" in hypot("-f", path).out


# Objects of other versions.


def test_a_field_of_a_newer_version_is_allowed(tmp_path):
    """The field is reported as a problem, and the rest is decided."""
    objects = world(spec={**HPA["spec"], "future": 1})
    (decision,) = hypot("-f", written(tmp_path, *objects), "-o", "json").json["decisions"]
    assert decision["decided"]
    assert [p["rule"] for p in decision["problems"]] == ["unknown-field"]


def test_autoscaling_v1_is_advice(tmp_path):
    """It is decided like autoscaling/v2, and is as serious as for lint, which has the same rule."""
    spec = {key: value for key, value in HPA["spec"].items() if key != "metrics"}
    objects = world(apiVersion="autoscaling/v1", spec={**spec, "targetCPUUtilizationPercentage": 50})
    result = hypot("-f", written(tmp_path, *objects), "-o", "json")
    (decision,) = result.json["decisions"]
    assert (result.status, decision["decided"]) == (0, True)
    assert [(p["rule"], p["severity"]) for p in decision["problems"]] == [("single-metric-version", "advice")]


def test_one_mistake_is_one_problem(tmp_path):
    """A target of autoscaling/v2beta1 in v2 is not a missing target too."""
    old = {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 50}}
    result = hypot("-f", written(tmp_path, *world(spec={**HPA["spec"], "metrics": [old]})), "-o", "json")
    (decision,) = result.json["decisions"]
    assert [p["rule"] for p in decision["problems"]] == ["unknown-field"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to write to")
@pytest.mark.parametrize("command", [("decide", "-f"), ("lint", "-f")])
def test_a_full_disk_is_reported(command):
    """Exit status 2 and one line, no traceback; never the exit status that means findings."""
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-c", "from hypot.cli.main import main; main()", *command, str(EXAMPLE)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (run.returncode, run.stderr) == (2, "Error: cannot write the answer: No space left on device\n")


def test_a_name_that_the_stream_cannot_show(tmp_path):
    """Lint replaces what the stream cannot encode, without a traceback."""
    path = written(tmp_path, {**HPA, "metadata": {"name": "网", "namespace": "shop"}})
    program = "from hypot.cli.main import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program, "lint", "-f", str(path)],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (1, b"")
    assert b"shop/?" in run.stdout


def test_parallel_runs_with_one_state_forget_nothing(tmp_path):
    """Each run waits for the others, and all namespaces are remembered."""
    state = tmp_path / "state.json"
    program = "from hypot.cli.main import main; main()"
    dumps = []
    for name in ("a", "b", "c", "d"):
        moved = [{**one, "metadata": {**one["metadata"], "namespace": name}} for one in world()]
        dumps.append(written(tmp_path, *moved, name=f"{name}.yaml"))
    arguments = [[sys.executable, "-c", program, "decide", "-f", str(d), "--state", str(state)] for d in dumps]
    runs = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in arguments]
    assert [run.wait(60) for run in runs] == [0, 0, 0, 0]
    kept = json.loads(state.read_text(encoding="utf-8"))["autoscalers"]
    assert set(kept) == {f"HorizontalPodAutoscaler/{name}/web" for name in ("a", "b", "c", "d")}

"""hypot recommend: from files to a table, JSON and manifests."""

import json
from math import sin

import pytest
import yaml

from hypot.kinds.text.load import load_text
from unit.cli.command import hypot
from unit.replay.manifests import deployment, hpa

# Short histories, in few and long ticks.
WORLD = "tick: 60s\ndemand: {leadIn: 0s}\nscoring: {windows: 3}\npods: {start: 45s}\nservice: {work: 20ms}\n"
MINUTES = 240
RESOURCES = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


def web(name="web", resources=RESOURCES, **given):
    return deployment(name, containers=[{"name": "app", "image": "web:1", "resources": resources}], **given)


def waves(i):
    """Requests per second: half an hour from one peak to the next."""
    return 80 + 60 * sin(i / 5)


def calm(_):
    return 50.0


@pytest.fixture
def run(tmp_path):
    """Writes histories by name and manifests, and runs the command on them."""

    def recommend(demand, *objects, world=WORLD, options=(), minutes=MINUTES):
        rows = [f"{60 * i},{name},{value(i):.3f}\n" for name, value in demand.items() for i in range(minutes + 1)]
        (tmp_path / "demand.csv").write_text("time,workload,rps\n" + "".join(rows))
        (tmp_path / "world.yaml").write_text(world)
        (tmp_path / "given.yaml").write_text("---\n".join(yaml.safe_dump(json.loads(json.dumps(o))) for o in objects))
        given = ("-f", tmp_path / "given.yaml") if objects else ()
        files = (tmp_path / "demand.csv", "--world", tmp_path / "world.yaml")
        return hypot("recommend", *files, *given, "--engine", "plain", *options)

    return recommend


def target(name):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}


def scaled(name="web", **spec):
    return hpa(name, target=target(name), minReplicas=2, **spec)


def test_each_workload_has_a_row(run):
    """With what it has today, what is best, and what is assumed; what cannot be judged is said below."""
    found = run({"web": waves, "calm": calm}, web(), scaled(), web("calm", replicas=2))
    assert (found.status, found.err) == (0, "")
    assert "2 workloads" in found.out
    assert "HPA 70 %" in found.out
    assert "2 pods" in found.out
    assert "These numbers are assumed" in found.out
    assert "useful 0.8" in found.out
    assert "service.work" not in found.out


def test_json_has_what_was_tried(run):
    """By a schema: each choice with its scores, and each number with where it comes from."""
    found = run({"web": waves}, web(), scaled(), options=("-o", "json"))
    [one] = found.json["workloads"]
    names = [each["name"] for each in one["tried"]]
    assert names == ["today", "autoscaler", "autoscaler replicas", "pair", "tuned hpa", "right-sized"]
    today, best = one["tried"][0], next(each for each in one["tried"] if each["name"] in {one["best"], "today"})
    assert best["monthlyPrice"] <= today["monthlyPrice"]
    assert today["saving"] == {"monthly": 0.0, "share": 0.0, "interval": {"low": 0.0, "high": 0.0}}
    origins = {each["parameter"]: each["from"] for each in one["calibration"]}
    assert origins["service.work"] == "world"
    assert origins["workload.cpu"] == "manifest"
    assert origins["demand.unit"] == "measured"
    assert origins["service.baseCpu"] == "assumed"


def test_the_requests_that_are_tried_are_no_numbers_of_the_workload(run):
    """Those of today are."""
    found = run({"web": waves}, web(), scaled(), options=("-o", "json"))
    [one] = found.json["workloads"]
    [cpu] = [each["value"] for each in one["calibration"] if each["parameter"] == "workload.cpu"]
    assert cpu == 1.0


def test_equal_input_gives_equal_output(run):
    """To the byte."""
    first, second = (run({"web": waves}, web(), scaled(), options=("-o", "json")).out for _ in range(2))
    assert first == second


FULL = {"requests": {"cpu": "1", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}}


def test_what_serves_best_is_kept(run):
    """A constant demand on two pods that are just large enough: a smaller request makes too many requests late."""
    options = ("--trace", "unit=cores", "-o")
    found = run({"calm": lambda _: 1.0}, web("calm", FULL, replicas=2), options=(*options, "json"))
    [one] = found.json["workloads"]
    assert (one["best"], one["saving"]["monthly"]) == ("keep today", 0.0)
    assert run({"calm": lambda _: 1.0}, web("calm", FULL, replicas=2), options=(*options, "patch")).out.startswith(
        "# Nothing to change"
    )


BUSY = {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "1Gi"}}


def test_patches_pass_lint(run, tmp_path):
    """Every object of the patch can be read, and none that scales acts at once."""
    big = web("calm", BUSY, replicas=2)
    found = run({"web": waves, "calm": calm}, web(), scaled(), big, options=("-o", "patch"))
    assert found.status == 0
    objects = [one.data for one in load_text(found.out)]
    assert objects
    for one in objects:
        if one["kind"] == "Autoscaler":
            assert one["spec"]["updateMode"] == "Off"
        if one["kind"] == "Deployment":
            [container] = one["spec"]["template"]["spec"]["containers"]
            assert container["image"] == "web:1"
            assert container["resources"]["requests"]["memory"] == "1Gi"
    (tmp_path / "patch.yaml").write_text(found.out)
    assert hypot("lint", tmp_path / "patch.yaml").status == 0


def test_a_pod_that_is_much_too_large_is_sized(run):
    """With a fixed count only a smaller request can save."""
    found = run({"calm": calm}, web("calm", BUSY, replicas=2), options=("-o", "json"))
    [one] = found.json["workloads"]
    sized = next(each for each in one["tried"] if each["name"] == "right-sized")
    assert sized["cpu"] < 1.0
    assert one["best"] != "keep today"


def test_without_manifests_the_usual_is_assumed(run):
    """And said, with a low confidence."""
    found = run({"web": waves}, options=("-o", "json"))
    [one] = found.json["workloads"]
    assert "HPA at 80 % cpu is assumed" in one["today"]
    assert one["confidence"] == "low"
    assert one["notes"][0] == "without manifests, pods are assumed"


def test_prices_of_node_classes(run, tmp_path):
    """Of the class that the pods select, else of the default; memory is per gibibyte."""
    prices = {"classes": {"spot": {"cpu": 1.0, "memory": 0.0}, "usual": {"cpu": 2.0, "memory": 2**30 / 1e9}}}
    (tmp_path / "prices.yaml").write_text(yaml.safe_dump({**prices, "default": "usual"}))
    spot = web("spot", replicas=2)
    spot["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/pool": "spot"}
    options = ("-o", "json", "--prices", tmp_path / "prices.yaml")
    found = run({"spot": calm, "web": calm}, spot, web(replicas=2), options=options).json["workloads"]
    today = {one["name"]: one["tried"][0] for one in found}
    assert today["spot"]["monthlyCost"] == pytest.approx(2 * 720 * 1.0)
    assert today["web"]["monthlyCost"] == pytest.approx(2 * 720 * (2.0 + 2**30 / 1e9))
    [cpu] = [each for each in found[0]["calibration"] if each["parameter"] == "prices.cpu"]
    assert (cpu["from"], cpu["source"]) == ("prices", f"class spot ({tmp_path / 'prices.yaml'})")


def test_all_errors_of_files_at_once(run, tmp_path):
    """Of the world, the prices and the manifests."""
    (tmp_path / "prices.yaml").write_text("classes: {spot: {cpu: -1}}\ndefault: gold\n")
    options = ("--prices", tmp_path / "prices.yaml", "-f", tmp_path / "no.yaml")
    found = run({"web": calm}, web(), world="tick: 0s\n", options=options)
    assert found.status == 2
    for part in ("tick", "classes.spot.cpu: write dollars", "classes.spot.memory", "default: gold", "no.yaml"):
        assert part in found.err


def test_one_workload_that_cannot_be_judged_leaves_the_others(run):
    """Each with its reason."""
    other = web("late")
    other["metadata"]["namespace"] = "a"
    twice = web("late")
    twice["metadata"]["namespace"] = "b"
    asks = scaled("odd", metrics=[{"type": "Pods", "pods": {"metric": {"name": "unknown"}, "target": {}}}])
    found = run(
        {"web": waves, "late": calm, "odd": calm},
        web(),
        scaled(),
        other,
        twice,
        web("odd"),
        asks,
        options=("-o", "json"),
    )
    assert [one["name"] for one in found.json["workloads"]] == ["web"]
    left = {one["workload"]: one["why"] for one in found.json["leftOut"]}
    assert "may be each of Deployment a/late, Deployment b/late" in left["late"]
    assert "unknown" in left["odd"]


def test_names_with_a_namespace_or_a_kind(run):
    """Say which one is meant."""
    a, b = web(), web()
    a["metadata"]["namespace"], b["metadata"]["namespace"] = "a", "b"
    found = run({"a/web": calm, "b/deployment/web": calm}, a, b, options=("-o", "json"))
    assert [one["namespace"] for one in found.json["workloads"]] == ["a", "b"]


def test_too_short_a_history(run):
    """Is an error if there is no other."""
    found = run({"web": calm}, web(), minutes=30)
    assert found.status == 2
    assert "web: 30 min of history" in found.err


def test_a_history_without_any_demand(run):
    """Says nothing of what its pods need; the others are judged."""
    found = run({"idle": lambda _: 0.0, "web": calm}, web(), web("idle"), options=("-o", "json"))
    assert [one["name"] for one in found.json["workloads"]] == ["web"]
    (left,) = found.json["leftOut"]
    assert (left["workload"], left["why"].split(",")[0]) == ("idle", "there is no demand in its history")


def test_a_strict_world_assumes_nothing(run):
    """What is missing is printed as parts of a world file."""
    found = run({"web": calm}, web(), options=("--strict-world",))
    assert found.status == 2
    assert "baseCpu: 0.05" in found.err

"""Grids: what users write, and the policies that result."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.hpa import HPA
from hypot.kinds.vpa.knobs import Knobs, knobs_from
from hypot.replay.policies.grid import MOST_COMBINATIONS, GridAxis, GridError, expand, parse_grid
from hypot.replay.policies.policy import Policy, PolicyError, Start
from unit.replay.manifests import MAPPED, TARGET, cpu, custom, deployment, hpa, hvpa, policies, vpa, weighted, wpa

PAIR = {"hypot.dev/policy": "pair"}


def gridded(folder, objects, *texts):
    return expand(policies(folder, deployment(), *objects), parse_grid(texts), MAPPED)


def reported(folder, objects, *texts, error=GridError):
    with pytest.raises(error) as caught:
        gridded(folder, objects, *texts)
    return caught.value.problems


def at(policy, *path, of=0):
    """The value at a path of an autoscaler's manifest."""
    found = policy.autoscalers[of].to_dict()
    for key in path:
        found = found[key]
    return found


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("hpa.cpu=50..60:5", "50 55 60"),
        ("hpa.cpu=50..62:5", "50 55 60"),
        ("hpa.cpu=50, 70,80", "50 70 80"),
        ("hpa.cpu=70", "70"),
        ("hpa.cpu=70..71:0.5", "70 70.5 71"),
        ("vpa.margin=0.1..0.3:0.1", "0.1 0.2 0.3"),
        ("vpa.half-life=1h..3h:1h", "1h 2h 3h"),
        ("wpa.high=100m..300m:100m", "100m 200m 300m"),
        ("hpa.x=1..3:1k", None),
        ("hpa.x=1..3k:1", "1k 2k 3k"),
        ("a b.spec.x.0.y=5m,on", "5m on"),
        ("p=q.cpu=5", "5"),
    ],
)
def test_values(text, values):
    """Lists and ranges are exact decimals, with at most one unit."""
    if values is None:
        with pytest.raises(GridError, match="the same unit"):
            parse_grid([text])
        return
    (reconcile,) = parse_grid([text])
    assert reconcile == GridAxis(text.rpartition("=")[0], tuple(values.split()))
    assert parse_grid([str(reconcile)]) == (reconcile,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write it as hpa.cpu=50..90:5"),
        ("hpa.cpu", "write it as hpa.cpu=50..90:5"),
        ("hpa.cpu=", "write it as hpa.cpu=50..90:5"),
        ("cpu=50", "write it as hpa.cpu=50..90:5"),
        (".cpu=50", "write it as hpa.cpu=50..90:5"),
        ("hpa.=50", "write it as hpa.cpu=50..90:5"),
        ("hpa.cpu=50,,60", "a value is missing between the commas"),
        ("hpa.cpu=50,60,50", "50 is given twice"),
        ("hpa.cpu=50..90", "a range needs a step: 50..90:5"),
        ("hpa.cpu=90..50:5", "a range must go up, in steps above 0"),
        ("hpa.cpu=50..90:0", "a range must go up, in steps above 0"),
        ("hpa.cpu=50..90:-5", "a range must go up, in steps above 0"),
        ("hpa.cpu=a..b:c", "write a range as 50..90:5"),
        ("hpa.cpu=1..9e9:1", "write a range as 50..90:5"),
        ("hpa.cpu=0..1000:1", "more than 200 values; use longer steps"),
        ("hpa.cpu=0..999999999999999:0.000000001", "more than 200 values; use longer steps"),
    ],
)
def test_what_cannot_be_read(text, message):
    """The error has the text and says what to write."""
    with pytest.raises(GridError) as caught:
        parse_grid([text])
    assert caught.value.problems[0].startswith(f"--grid {text}: ")
    assert message in str(caught.value)


def test_everything_is_reported_at_once():
    """The number of combinations is limited as well."""
    with pytest.raises(GridError) as caught:
        parse_grid(["a", "hpa.min=1..20:1", "hpa.max=21..40:1", "hpa.min=50"])
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "--grid a",
        "--grid hpa.min=50",
        "--grid",
    ]
    assert len(parse_grid(["hpa.min=1..20:1", "hpa.max=1..10:1"])) == 2
    assert MOST_COMBINATIONS == 200


@settings(deadline=None)
@given(st.text(max_size=30) | st.from_regex(r"[a-z.]{0,6}=[0-9.:,a-z-]{0,12}", fullmatch=True))
def test_any_text_is_a_grid_or_reported(text):
    """No other error is raised."""
    try:
        (found,) = parse_grid([text])
    except GridError as error:
        found = error
    assert str(found)


@settings(deadline=None)
@given(st.integers(-1000, 1000), st.integers(0, 150), st.integers(1, 999), st.integers(0, 4))
def test_ranges_are_exact(first, steps, by, digits):
    """Every value is the first plus whole steps, whatever the fraction."""

    def text(whole):
        sign, figures = "-" * (whole < 0), str(abs(whole)).zfill(digits + 1)
        return sign + (f"{figures[:-digits]}.{figures[-digits:]}" if digits else figures)

    (reconcile,) = parse_grid([f"hpa.x={text(first)}..{text(first + steps * by)}:{text(by)}"])
    wanted = [first + i * by for i in range(steps + 1)]
    assert [float(value) for value in reconcile.values] == [float(text(whole)) for whole in wanted]


UP, DOWN = ("spec", "behavior", "scaleUp"), ("spec", "behavior", "scaleDown")
WINDOW = "stabilizationWindowSeconds"
IN_HPA = ("spec", "hpa", "template", "spec")
TWO_BANDS = [
    {"type": "External", "external": {"metricName": name, "metricSelector": {}, "highWatermark": 9, "lowWatermark": 1}}
    for name in ("queue", "http_requests")
]


@pytest.mark.parametrize(
    ("obj", "text", "path", "value"),
    [
        (hpa(), "hpa.cpu=50", ("spec", "metrics", 0, "resource", "target", "averageUtilization"), 50),
        (hpa(metrics=[]), "hpa.cpu=50", ("spec", "metrics", 0, "resource", "target", "averageUtilization"), 50),
        (
            hpa(metrics=[cpu(), custom()]),
            "hpa.http_requests=80.5",
            ("spec", "metrics", 1, "pods", "target", "averageValue"),
            "80.5",
        ),
        (hpa(), "hpa.min=2", ("spec", "minReplicas"), 2),
        (hpa(), "hpa.max=20", ("spec", "maxReplicas"), 20),
        (hpa(), "hpa.up-window=1m30s", (*UP, WINDOW), 90),
        (hpa(), "hpa.down-window=0", (*DOWN, WINDOW), 0),
        (hpa(), "hpa.tolerance=0.05", (*UP, "tolerance"), "0.05"),
        (hpa(), "hpa.tolerance=0.05", (*DOWN, "tolerance"), "0.05"),
        (hpa(), "web.max=20", ("spec", "maxReplicas"), 20),
        (hpa(), "web.hpa.max=20", ("spec", "maxReplicas"), 20),
        (hpa(), "hpa.spec.metrics.0.resource.target.averageUtilization=5", ("spec", "maxReplicas"), 10),
        (hpa(), "hpa.spec.behavior.scaleUp.selectPolicy=Disabled", (*UP, "selectPolicy"), "Disabled"),
        (wpa(), "wpa.high=90", ("spec", "metrics", 0, "external", "highWatermark"), 90),
        (wpa(), "wpa.low=10", ("spec", "metrics", 0, "external", "lowWatermark"), 10),
        (wpa(metrics=TWO_BANDS), "wpa.http_requests.low=3", ("spec", "metrics", 1, "external", "lowWatermark"), 3),
        (wpa(), "wpa.up-forbidden-window=2m", ("spec", "upscaleForbiddenWindowSeconds"), 120),
        (wpa(), "wpa.down-forbidden-window=60", ("spec", "downscaleForbiddenWindowSeconds"), 60),
        (wpa(), "wpa.up-factor=30", ("spec", "scaleUpLimitFactor"), 30),
        (wpa(), "wpa.down-factor=30", ("spec", "scaleDownLimitFactor"), 30),
        (wpa(), "wpa.tolerance=0.2", ("spec", "tolerance"), "0.2"),
        (wpa(), "wpa.spec.dryRun=true", ("spec", "dryRun"), True),
        (vpa(), "vpa.margin=0.2", ("metadata", "annotations", "hypot.dev/safety-margin"), "0.2"),
        (vpa(), "vpa.half-life=1h", ("metadata", "annotations", "hypot.dev/memory-half-life"), "1h"),
        (vpa(), "vpa.cpu-half-life=1h", ("metadata", "annotations", "hypot.dev/cpu-half-life"), "1h"),
        (hvpa(), "hvpa.overlap=10", ("spec", "scalingIntervalsOverlap", "memory"), {"percentage": 10}),
        (hvpa(), "hvpa.min-change=15", ("spec", "scaleDown", "minChange", "cpu"), {"percentage": 15}),
        (hvpa(), "hvpa.min-change-up=15", ("spec", "scaleUp", "minChange", "memory"), {"percentage": 15}),
        (hvpa(), "hvpa.up-stabilization=90", ("spec", "scaleUp", "stabilizationDuration"), "90s"),
        (hvpa(), "hvpa.down-stabilization=3m", ("spec", "scaleDown", "stabilizationDuration"), "3m"),
        (hvpa(), "hvpa.cpu=60", (*IN_HPA, "metrics", 0, "resource", "target", "averageUtilization"), 60),
        (hvpa(), "hvpa.down-window=60", ("spec", "hpa", "deploy"), True),
        (hvpa(), "hvpa.margin=0.3", ("spec", "vpa", "deploy"), True),
        (weighted(), "hvpa.weight=20", ("spec", "weightBasedScalingIntervals", 0, "vpaWeight"), 20),
    ],
)
def test_knobs(tmp_path, obj, text, path, value):
    """Each name changes its place in the manifest, and one value gives one policy."""
    (policy,) = gridded(tmp_path, [obj], text)
    assert at(policy, *path) == value
    label, _, written = text.rpartition("=")
    assert policy.name.startswith("web ")
    assert policy.name.endswith(f"{label.rpartition('.')[2]}={written}")


@pytest.mark.parametrize(
    ("percentile", "lower", "upper"), [("0.3", 0.3, 0.95), ("0.9", 0.5, 0.95), ("0.97", 0.5, 0.97)]
)
@pytest.mark.parametrize(("kind", "obj"), [("vpa", vpa()), ("hvpa", hvpa())])
def test_bounds_come_along_with_a_percentile(tmp_path, kind, obj, percentile, lower, upper):
    """Otherwise every pod of the recommended size would be outside its bounds."""
    (policy,) = gridded(tmp_path, [obj], f"{kind}.percentile={percentile}")
    autoscaler = policy.autoscalers[0]
    knobs = knobs_from(getattr(autoscaler, "knob_annotations", autoscaler.annotations), Knobs())
    for resource in ("cpu", "memory"):
        found = [getattr(knobs, f"{name}_{resource}_percentile") for name in ("lower", "target", "upper")]
        assert found == [lower, float(percentile), upper]


def test_grids_multiply_where_they_concern_a_policy(tmp_path):
    """A policy that no grid concerns is unchanged, and the order of the input is kept."""
    objects = [wpa("w"), hpa("a"), vpa("v", PAIR), hpa("h", PAIR)]
    found = gridded(tmp_path, objects, "hpa.cpu=50,60", "vpa.percentile=0.8,0.9")
    assert [policy.name for policy in found] == [
        "w",
        "a cpu=50",
        "a cpu=60",
        "pair cpu=50 percentile=0.8",
        "pair cpu=50 percentile=0.9",
        "pair cpu=60 percentile=0.8",
        "pair cpu=60 percentile=0.9",
    ]
    assert [policy.family for policy in found] == ["", "a", "a", "pair", "pair", "pair", "pair"]
    assert all(policy.workload == found[0].workload for policy in found)


def test_the_others_stay_as_they_were(tmp_path):
    """With a grid for one policy, and with a metric that only one policy has."""
    objects = [hpa("a"), hpa("b", metrics=[custom()])]
    assert [p.name for p in gridded(tmp_path, objects, "hpa.cpu=50,60")] == ["a cpu=50", "a cpu=60", "b"]
    assert [p.name for p in gridded(tmp_path, objects, "b.max=5,6")] == ["a", "b max=5", "b max=6"]


def test_without_grids_nothing_changes(tmp_path):
    """The policies are the same."""
    assert [policy.name for policy in gridded(tmp_path, [hpa()])] == ["web"]


def test_names_with_dots_are_taken_whole(tmp_path):
    """The longest policy name that matches is used."""
    found = gridded(tmp_path, [hpa("web"), hpa("web.v2")], "web.v2.max=20")
    assert [policy.name for policy in found] == ["web", "web.v2 max=20"]


def test_long_names_are_cut(tmp_path):
    """No name is longer than 63 characters."""
    found = gridded(tmp_path, [hpa("n" * 60)], "hpa.cpu=50,60")
    assert [len(policy.name) for policy in found] == [63, 63]
    assert found[0].name.endswith("n… cpu=50")


def test_names_that_are_the_same_after_cutting(tmp_path):
    """The results could not be distinguished, so this is an error."""
    objects = [hpa("n" * 60 + "a"), hpa("n" * 60 + "b")]
    assert "two policies would be called" in reported(tmp_path, objects, "hpa.cpu=50,60")[0]


@pytest.mark.parametrize(
    ("objects", "text", "message"),
    [
        ([hpa()], "hpa.cpu=70", "changes nothing: every manifest already has this value"),
        ([hpa()], "vpa.margin=0.2", "there is no autoscaler of kind vpa in it"),
        (
            [hpa()],
            "api.cpu=50",
            "api is neither a policy nor one of hpa, wpa, vpa, hvpa, tortoise, autoscaler; policies are web",
        ),
        ([hpa()], "hpa.cpus=50", "unknown knob cpus, and its metrics are cpu; the knobs are cpu, memory, METRIC, min"),
        ([hpa()], "hpa.spec.metrics.1.type=x", "'1' is not an index of a list of 1"),
        ([hpa()], "hpa.spec.metrics.x=1", "'x' is not an index of a list of 1"),
        ([hpa()], "hpa.spec.metrics=x", "is not a single value; continue the path to a value below it"),
        ([hpa()], "hpa.spec.maxReplicas.a=x", "there is nothing below spec.maxReplicas"),
        ([hpa()], "hpa.spec..a=x", "a name is missing between two dots"),
        ([hpa(metrics=[custom(), custom()])], "hpa.http_requests=3", "it has 2 metrics called http_requests"),
        ([wpa(metrics=TWO_BANDS)], "wpa.high=8", "write one of queue.high, http_requests.high"),
        ([wpa()], "wpa.other.high=8", "unknown knob other.high, and its metrics are queue"),
        ([wpa()], "wpa.queue=8", "unknown knob queue"),
        ([vpa()], "vpa.cpu=8", "unknown knob cpu; the knobs are percentile, margin, half-life and paths"),
        ([hvpa()], "hvpa.weight=8", "it has no weights"),
        ([weighted()], "hvpa.overlap=8", "overlap is for scaling intervals, but it has weights"),
        ([hvpa(vpa={"deploy": False})], "hvpa.margin=0.3", "its vpa block is switched off"),
        ([hpa("h", PAIR), vpa("v", PAIR)], "pair.spec.a=1", "write the kind before the knob: hpa or vpa"),
    ],
)
def test_a_grid_that_names_or_changes_nothing(tmp_path, objects, text, message):
    """It is an error, and never ignored."""
    (found,) = reported(tmp_path, objects, text)
    assert message in found
    assert found.startswith(f"--grid {text}")


def test_one_knob_by_two_names(tmp_path):
    """The second would overwrite the first, so this is an error."""
    (found,) = reported(tmp_path, [hpa()], "hpa.cpu=50,60", "web.cpu=70,80")
    assert "another --grid already sets cpu of policy 'web'" in found


@pytest.mark.parametrize(
    ("objects", "text", "message"),
    [
        ([hpa()], "hpa.cpu=70..71:0.5", "web cpu=70.5: spec.metrics[0].resource.target.averageUtilization: "),
        ([hpa()], "hpa.max=0,5", "web max=0: spec.maxReplicas"),
        ([hpa()], "hpa.spec.maxReplica=4", "(did you mean maxReplicas?)"),
        ([wpa()], "wpa.high=30", "must not be below the low watermark"),
        ([vpa()], "vpa.percentile=1.5", "must be above 0 and at most 1"),
        ([hpa(metrics=[custom()])], "hpa.spec.metrics.0.pods.metric.name=x", "the world does not define the metric x"),
    ],
)
def test_the_resulting_manifests_are_checked(tmp_path, objects, text, message):
    """The error has the file and the line of the manifest."""
    found = reported(tmp_path, objects, text, error=PolicyError)
    assert message in found[0]
    assert found[0].startswith(f"{tmp_path / 'policies.yaml'}:")


def test_many_wrong_values_are_summarised(tmp_path):
    """Only the first are listed, because all are wrong in the same way."""
    found = reported(tmp_path, [hpa()], "hpa.cpu=0.1..9.9:0.1", error=PolicyError)
    assert len(found) == 21
    assert found[-1] == "and 70 more problems"


def test_policies_that_came_from_no_file():
    """Policies made in Python can be put on a grid too."""
    autoscaler = HPA(TARGET, max_replicas=5)
    policy = Policy("mine", (autoscaler,), Start("web", 1, "app", 1000, 1, None, None))
    assert [p.name for p in expand([policy], parse_grid(["mine.max=6,7"]), MAPPED)] == ["mine max=6", "mine max=7"]
    with pytest.raises(PolicyError, match=r"^mine max=0: spec\.maxReplicas"):
        expand([policy], parse_grid(["mine.max=0"]), MAPPED)

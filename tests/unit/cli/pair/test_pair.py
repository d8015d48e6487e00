"""hypot pair, from the command line to the manifests that it prints."""

import json
from functools import partial
from pathlib import Path

import pytest
import yaml

from hypot import HPA, VPA, check
from hypot.cli.pair.manifests import rule_name
from hypot.kinds.metric_rules.read import read_rules
from unit.cli.command import hypot as run_hypot

ROOT = Path(__file__).resolve().parents[4]
WEEK, WORLD = ROOT / "examples/replay/week.csv", ROOT / "examples/replay/world.yaml"
hypot = partial(run_hypot, "pair")
CONTAINER = {
    "name": "app",
    "image": "web",
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    "ports": [{"name": "http", "containerPort": 8080}],
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": {"run": "web"}},
        "template": {"metadata": {"labels": {"run": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def pod_template(ports=None, **annotations):
    container = CONTAINER if ports is None else {**CONTAINER, "ports": ports}
    metadata = {"labels": {"run": "web"}, "annotations": annotations}
    template = {"metadata": metadata, "spec": {"containers": [container]}}
    return {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "template": template}}


def hvpa(**spec):
    policy = {"containerName": "app", "minAllowed": {"cpu": "250m"}}
    vpa = {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy]}}}}
    intervals = [
        {"maxReplicas": 3, "maxResources": {"cpu": "2", "memory": "2Gi"}},
        {"maxReplicas": 7, "maxResources": {"cpu": "4", "memory": "8Gi"}},
    ]
    block = {"deploy": True, "template": {"spec": {"minReplicas": 2, "maxReplicas": 7}}}
    body = {"targetRef": TARGET, "scalingIntervals": intervals, "hpa": block, "vpa": vpa, **spec}
    metadata = {"name": "web", "namespace": "shop"}
    return {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "metadata": metadata, "spec": body}


def given(folder, *objects):
    path = folder / "given.yaml"
    path.write_text("---\n".join(yaml.safe_dump(one) for one in objects), encoding="utf-8")
    return path


def pair(*arguments):
    """The HPA and the VPA that are printed, which nothing is wrong with."""
    result = hypot("deployment/web", *arguments)
    assert result.status == 0, result.err
    hpa, vpa = [one for one in yaml.safe_load_all(result.out) if one]
    assert HPA.from_dict(hpa).problems() == ()
    assert VPA.from_dict(vpa).problems() == ()
    return hpa, vpa


def rule_of(folder, *arguments):
    """The rule that is written, as the metrics server reads it."""
    file = folder / "rules.yaml"
    result = hypot("deployment/web", "--rate", "300", "--rules", file, *arguments)
    assert result.status == 0, result.err
    return read_rules(str(file)).to_dict()["spec"]["rules"][-1]


class TestManifests:
    """What is printed."""

    def test_by_rate(self):
        """Replicas by request rate, slow on the way down; sizes by usage, requests only and in place."""
        hpa, vpa = pair("--rate", "300", "-n", "shop", "--replicas", "2..20")
        assert hpa["metadata"] == vpa["metadata"] == {"name": "web", "namespace": "shop"}
        assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (2, 20)
        target = {"type": "AverageValue", "averageValue": "300"}
        metric = {"type": "Pods", "pods": {"metric": {"name": "http_requests_per_second"}, "target": target}}
        assert hpa["spec"]["metrics"] == [metric]
        assert hpa["spec"]["behavior"] == {"scaleDown": {"stabilizationWindowSeconds": 900}}
        assert vpa["spec"]["updatePolicy"] == {"updateMode": "InPlaceOrRecreate"}
        policies = [{"containerName": "*", "controlledValues": "RequestsOnly"}]
        assert vpa["spec"]["resourcePolicy"] == {"containerPolicies": policies}

    def test_by_usage(self):
        """An amount per pod: a percentage would change with the request. No metrics server is needed."""
        hpa, _ = pair("--cpu", "6")
        target = {"type": "AverageValue", "averageValue": "6"}
        assert hpa["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        assert "MetricRules" not in hypot("deployment/web", "--cpu", "6").out

    def test_the_rule_is_a_comment(self):
        """`kubectl apply` takes the output as it is; without the marks the rule is valid."""
        text = hypot("deployment/web", "--rate", "300").out
        comment = text.rpartition("---\n")[2]
        assert all(line.startswith("#") for line in comment.splitlines())
        data = yaml.safe_load("\n".join(line[2:] for line in comment.splitlines()[1:]))
        assert data["spec"]["rules"][0]["metrics"] == [
            {"counter": "http_requests_total", "names": ["http_requests_per_second"]}
        ]

    def test_bounds_of_an_hvpa(self, tmp_path):
        """Counts of its intervals, bounds of its containers, and the largest size of its last interval."""
        hpa, vpa = pair("--rate", "300", "-f", given(tmp_path, hvpa()))
        assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (2, 7)
        assert hpa["metadata"]["namespace"] == "shop"
        [policy] = vpa["spec"]["resourcePolicy"]["containerPolicies"]
        assert policy["minAllowed"] == {"cpu": "250m"}
        assert policy["maxAllowed"] == {"cpu": "4", "memory": "8Gi"}
        out = hypot("deployment/web", "--rate", "300", "-f", tmp_path / "given.yaml").out
        assert "# Hvpa web holds while this HPA exists; docs/pair.md says how to move over, and back." in out

    @pytest.mark.parametrize(
        ("requests", "most"),
        [
            (
                ({"cpu": "3", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
                [{"cpu": "3", "memory": "4Gi"}, {"cpu": "1", "memory": "4Gi"}],
            ),
            (({"cpu": "3", "memory": "1Gi"}, {"cpu": "1"}), [{"cpu": "3"}, {"cpu": "1"}]),
            (({"cpu": "3"}, {}), [None, None]),
        ],
    )
    def test_several_containers_share_the_size_of_a_pod(self, tmp_path, requests, most):
        """4 cpu of an Hvpa are those of a pod, not of each of its containers."""
        names = ("app", "proxy")
        several = [
            {"name": name, "image": name, "resources": {"requests": each}}
            for name, each in zip(names, requests, strict=True)
        ]
        template = {"metadata": {"labels": {"run": "web"}}, "spec": {"containers": several}}
        workload = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "template": template}}
        _, vpa = pair("--rate", "300", "-f", given(tmp_path, hvpa(), workload))
        policies = vpa["spec"]["resourcePolicy"]["containerPolicies"]
        assert [one["containerName"] for one in policies] == ["app", "proxy"]
        assert [one.get("maxAllowed") for one in policies] == most
        assert [one.get("minAllowed") for one in policies] == [{"cpu": "250m"}, None]

    def test_what_a_vpa_says_of_updates(self, tmp_path):
        """Only its mode changes."""
        updates = {"updateMode": "Recreate", "minReplicas": 1, "evictAfterOOMSeconds": 300}
        known = {
            "apiVersion": "autoscaling.k8s.io/v1",
            "kind": "VerticalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"targetRef": TARGET, "updatePolicy": updates},
        }
        _, vpa = pair("--rate", "300", "-f", given(tmp_path, known))
        assert vpa["spec"]["updatePolicy"] == {**updates, "updateMode": "InPlaceOrRecreate"}

    def test_bounds_of_an_hpa(self, tmp_path):
        """One of another name would scale the same target, so it must go."""
        spec = {"scaleTargetRef": TARGET, "minReplicas": 4, "maxReplicas": 9}
        other = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": spec}
        file = given(tmp_path, {**other, "metadata": {"name": "by-cpu", "namespace": "shop"}})
        hpa, _ = pair("--rate", "300", "-f", file)
        assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (4, 9)
        out = hypot("deployment/web", "--rate", "300", "-f", file).out
        assert "# Delete HorizontalPodAutoscaler by-cpu before: it scales the same target." in out

    def test_assumptions_are_named(self):
        """What nothing in the input says."""
        out = hypot("deployment/web", "--rate", "300").out
        assert "# Both bounds: assumed, because nothing in the input says it: --replicas MIN..MAX." in out
        assert "#     # Assumed: the selector of Deployment/web is not in the input; name it with -f." in out
        assert "#     # Assumed: nothing in the input says which port has the metrics." in out

    def test_lint_finds_nothing(self, tmp_path):
        """In the pair, its workload and its rule together."""
        hpa, vpa = pair("--rate", "300", "-f", given(tmp_path, DEPLOYMENT), "--replicas", "2..20")
        rule = rule_of(tmp_path, "-f", tmp_path / "given.yaml")
        data = yaml.safe_load((tmp_path / "rules.yaml").read_text(encoding="utf-8"))
        assert data["spec"]["rules"] == [rule]
        report = check(HPA.from_dict(hpa), VPA.from_dict(vpa), DEPLOYMENT, data)
        assert [one.rule for one in report.findings if one.severity != "advice"] == []


SCRAPES = [
    pytest.param(DEPLOYMENT, {"port": "http"}, id="the only port"),
    pytest.param(pod_template([{"name": "a"}, {"name": "metrics"}]), {"port": "metrics"}, id="by its name"),
    pytest.param(pod_template([{"containerPort": 9090}]), {"port": 9090}, id="by its number"),
    pytest.param(pod_template(**{"prometheus.io/port": "9102"}), {"port": 9102}, id="annotated"),
    pytest.param(
        pod_template(**{"prometheus.io/port": "9102", "prometheus.io/path": "/m", "prometheus.io/scheme": "https"}),
        {"port": 9102, "path": "/m", "scheme": "https"},
        id="annotated in full",
    ),
    pytest.param(
        pod_template(**{"prometheus.io/port": "9102", "prometheus.io/path": "probe?module=a&module=b&x#y"}),
        {"port": 9102, "path": "/probe", "parameters": {"module": ["a", "b"], "x": [""]}},
        id="a query",
    ),
    pytest.param(pod_template([]), {"port": "metrics"}, id="unknown"),
]


class TestRule:
    """The rule of the metrics server, and the file that it is added to."""

    @pytest.mark.parametrize(("workload", "expected"), SCRAPES)
    def test_how_pods_are_scraped(self, tmp_path, workload, expected):
        """As the pod template says."""
        rule = rule_of(tmp_path, "-f", given(tmp_path, workload))
        assert rule["scrape"] == expected
        assert rule["pods"] == {"matchLabels": {"run": "web"}}
        assert rule["namespaces"] == {"names": ["shop"]}

    @pytest.mark.parametrize("end", ["", "\n# The end.\n", "  labels:\n    a: b\n"])
    def test_another_rule_is_added(self, tmp_path, end):
        """To what people wrote, with their comments; the same rule only once."""
        file = tmp_path / "rules.yaml"
        first = hypot("deployment/api", "--rate", "5", "--rules", file, "-n", "blog")
        assert first.err == f"written: {file}\n"
        text = f"# Ours.\n{file.read_text(encoding='utf-8')}"
        file.write_text(text.replace("metadata:\n", f"metadata:\n{end}" if end.startswith("  ") else "metadata:\n"))
        if not end.startswith("  "):
            file.write_text(file.read_text(encoding="utf-8") + end)
        for said in (f"added to {file}: the rule default-web\n", f"{file}: the rule default-web is there already\n"):
            assert hypot("deployment/web", "--rate", "300", "--rules", file).err == said
            assert [one.name for one in read_rules(str(file)).rules] == ["blog-api", "default-web"]
        after = file.read_text(encoding="utf-8")
        assert after.startswith("# Ours.\n")
        assert ("# The end." in after) == ("# The end." in end)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("kind: ConfigMap\n", "the rule cannot be added"),
            ("{", "the rule cannot be added"),
            ("", "the rule cannot be added"),
        ],
    )
    def test_files_without_rules(self, tmp_path, text, expected):
        """They stay as they are."""
        file = tmp_path / "rules.yaml"
        file.write_text(text, encoding="utf-8")
        result = hypot("deployment/web", "--rate", "300", "--rules", file)
        assert (result.status, result.out) == (2, "")
        assert expected in result.err
        assert file.read_text(encoding="utf-8") == text

    def test_rules_in_one_line(self, tmp_path):
        """A list that is not written in lines is left to people, with the rule to add."""
        file = tmp_path / "rules.yaml"
        hypot("deployment/api", "--rate", "5", "--rules", file)
        file.write_text(json.dumps(yaml.safe_load(file.read_text(encoding="utf-8"))), encoding="utf-8")
        result = hypot("deployment/web", "--rate", "300", "--rules", file)
        assert result.status == 2
        assert "add it by hand:\n- name: default-web\n" in result.err

    def test_the_same_workload_again(self, tmp_path):
        """Its rule is updated; what people added stays."""
        file = tmp_path / "rules.yaml"
        hypot("deployment/web", "--rate", "5", "--rules", file, "-f", given(tmp_path, DEPLOYMENT))
        hypot("deployment/api", "--rate", "5", "--rules", file)
        weights = "  - counter: http_requests_total\n      weights: [{where: {matchLabels: {verb: LIST}}, weight: 5}]\n"
        text = file.read_text(encoding="utf-8").replace("  - counter: http_requests_total\n", weights, 1)
        file.write_text(f"# Ours.\n{text}", encoding="utf-8")
        moved = given(tmp_path, pod_template([{"name": "metrics"}]))
        again = ("deployment/web", "--rate", "5", "--rules", file, "-f", moved)
        assert hypot(*again).err == f"updated in {file}: the rule shop-web\n"
        assert hypot(*again).err == f"{file}: the rule shop-web is there already\n"
        assert hypot(*again, "--counter", "hits_total").err == f"updated in {file}: the rule shop-web\n"
        web, api = read_rules(str(file)).rules
        assert (web.name, web.scrape.port, api.name) == ("shop-web", "metrics", "default-api")
        assert [(one.counter, bool(one.weights)) for one in web.metrics] == [
            ("http_requests_total", True),
            ("hits_total", False),
        ]
        assert file.read_text(encoding="utf-8").startswith("# Ours.\n")

    def test_other_pods_under_the_same_name(self, tmp_path):
        """It may be the rule of another workload."""
        file = tmp_path / "rules.yaml"
        hypot("deployment/web", "--rate", "5", "--rules", file, "-n", "shop")
        result = hypot("deployment/web", "--rate", "5", "--rules", file, "-f", given(tmp_path, DEPLOYMENT))
        assert result.status == 2
        assert "the rule shop-web chooses other pods" in result.err

    def test_two_workloads_of_one_name(self, tmp_path):
        """Each namespace has its rule."""
        file = tmp_path / "rules.yaml"
        for namespace in ("shop", "blog"):
            assert hypot("deployment/web", "--rate", "5", "--rules", file, "-n", namespace).status == 0
        assert [one.name for one in read_rules(str(file)).rules] == ["shop-web", "blog-web"]

    @pytest.mark.parametrize("name", ["web.v2", "w" * 63, "web.v-2"])
    def test_names_that_no_rule_can_have(self, tmp_path, name):
        """The rule is called nearly so, and like no other one."""
        file = tmp_path / "rules.yaml"
        result = hypot(f"deployment/{name}", "--rate", "5", "--rules", file)
        assert result.status == 0, result.err
        assert len({rule_name("a", each) for each in (name, name.replace(".", "-"), f"{name}x")}) >= 2
        [rule] = read_rules(str(file)).rules
        assert rule.name == rule_name("default", name)

    def test_windows_lines_stay(self, tmp_path):
        file = tmp_path / "rules.yaml"
        hypot("deployment/web", "--rate", "5", "--rules", file)
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        assert hypot("deployment/api", "--rate", "5", "--rules", file).status == 0
        assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n") > 10

    @pytest.mark.parametrize("port", ["99999", "0", "\u0668\u0660", "http", "-1", "80a", ""])
    def test_a_port_that_is_none(self, tmp_path, port):
        """Nothing is written that the metrics server refuses."""
        file = tmp_path / "rules.yaml"
        workload = given(tmp_path, pod_template(**{"prometheus.io/port": port}))
        result = hypot("deployment/web", "--rate", "5", "--rules", file, "-f", workload)
        assert (result.status, result.out, file.exists()) == (2, "", False)
        assert "which is not a port" in result.err


REFUSED = [
    ((), "write --rate 300"),
    (("--rate", "300", "--cpu", "6"), "replicas follow either --rate or --cpu, not both"),
    (("--rate", "0"), "0 is not above zero"),
    (("--rate", "many"), "many"),
    (("--cpu", "auto"), "--cpu needs a number of cores"),
    (("--rate", "auto"), "--rate auto needs --history TRACE"),
    (("--rate", "3", "--history", "x.csv"), "--history, --trace and --world belong to --rate auto"),
    (("--rate", "3", "--trace", "unit=rps"), "--history, --trace and --world belong to --rate auto"),
    (("--cpu", "3", "--rules", "x.yaml"), "--rules belongs to --rate"),
    (("--rate", "3", "--replicas", "5..2"), "'5..2' is not a range; write 2..20"),
    (("--rate", "3", "--counter", "a b"), "is not the name of a Prometheus metric"),
    (("--rate", "auto", "--history", "absent.csv"), "absent.csv"),
]


class TestRefused:
    """Wrong usage and wrong input: exit status 2, and nothing is printed."""

    @pytest.mark.parametrize(("arguments", "expected"), REFUSED)
    def test_arguments(self, arguments, expected):
        result = hypot("deployment/web", *arguments)
        assert (result.status, result.out) == (2, "")
        assert expected in result.err

    @pytest.mark.parametrize("target", ["web", "deployment/", "deployment/We b", "Widget/web", "a/b/c"])
    def test_targets(self, target):
        result = hypot(target, "--rate", "3")
        assert (result.status, result.out) == (2, "")
        assert "is not a workload; write deployment/web" in result.err

    def test_a_workload_in_two_namespaces(self, tmp_path):
        """-n chooses one."""
        other = {**DEPLOYMENT, "metadata": {"name": "web", "namespace": "blog"}}
        file = given(tmp_path, DEPLOYMENT, other)
        assert "name its namespace with -n" in hypot("deployment/web", "--rate", "3", "-f", file).err
        assert hypot("deployment/web", "--rate", "3", "-f", file, "-n", "blog").status == 0

    def test_a_history_in_cores(self, tmp_path):
        file = tmp_path / "usage.csv"
        file.write_text("timestamp,cores\n0,1\n60,2\n", encoding="utf-8")
        result = hypot("deployment/web", "--rate", "auto", "--history", file)
        assert "is in cores, and a rate needs requests/s" in result.err


class TestAuto:
    """--rate auto: the largest rate that keeps the SLO on the history."""

    def test_the_example(self):
        """A pod of one core serves 50 requests/s; the reasons are comments."""
        result = hypot("deployment/web", "--rate", "auto", "--history", WEEK, "--world", WORLD, "--replicas", "2..30")
        assert result.status == 0, result.err
        hpa, _ = [one for one in yaml.safe_load_all(result.out) if one]
        assert hpa["spec"]["metrics"][0]["pods"]["target"]["averageValue"] == "39"
        assert "# The largest rate that keeps the SLO of 99 % in a replay of the history." in result.out
        assert "1.00 times the cost: chosen" in result.out

    def test_observed_replicas(self, tmp_path):
        """The search begins at the lower quartile of requests per replica: of 10, 20, 30 and 40 that is 17.5."""
        file = tmp_path / "history.csv"
        rows = [f"{1_709_294_400 + 60 * i},{100 + i % 7},{[10, 5, 3.4, 2.5][i % 4]}" for i in range(400)]
        file.write_text("\n".join(["timestamp,rps,replicas", *rows]), encoding="utf-8")
        result = hypot("deployment/web", "--rate", "auto", "--history", file, "--world", WORLD)
        assert result.status == 0, result.err
        assert "the lower quartile of requests/s per ready replica in the history" in result.out

    def test_nothing_keeps_the_slo(self):
        """One replica of a fixed size cannot serve a week of a shop."""
        more = ("-f", ROOT / "examples/replay/policies.yaml", "--replicas", "1..1")
        result = hypot("deployment/shop", "--rate", "auto", "--history", WEEK, "--world", WORLD, *more)
        assert (result.status, result.out) == (2, "")
        assert "no rate keeps the SLO of 99 %" in result.err
        assert "raise the maximum of 1 replicas" in result.err

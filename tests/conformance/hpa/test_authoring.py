"""What the tests of cdk8s-plus write, and the verdict of an API server on it and on many raw manifests."""

from conformance.harness import each_case
from hypot.kinds.base import InvalidAutoscaler, Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import stored
from hypot.kinds.hpa.fields import Metric, ScalingRules, cpu, external, limit, memory, on, pods
from hypot.lint import check

# Given -> the keyword of our constructors, the key in the manifest and the type of the target.
TARGETS = {
    "average_utilization": ("utilization", "averageUtilization", "Utilization"),
    "average_value": ("average", "averageValue", "AverageValue"),
    "value": ("value", "value", "Value"),
}
# Given -> the key of a direction in the manifest.
PACE = {"window_seconds": "stabilizationWindowSeconds", "select": "selectPolicy", "policies": "policies"}


@each_case("authoring_hpa.json", "apiserver_cases")
def test_verdict_on_a_raw_manifest(case):
    """The verdict of the API server, its error messages, and the spec that it would store."""
    assert_verdict(case["manifest"], case)


@each_case("authoring_hpa.json")
def test_authoring(case):
    """Exactly what the author gave is written; what the cluster would refuse is refused at once."""
    given, expect = case["given"], case["expect"]
    if "manifest" in expect:
        assert_verdict(expect["manifest"], case["apiserver"])
        assert_authored(given, expect["manifest"], case["apiserver"])
    elif expect["when"] == "synth":
        assert relational_rule(given) in {f.rule for f in check(author(given), workload(given["target"])).findings}
    else:
        assert refusal(given)


def assert_authored(given, manifest, verdict):
    if verdict["accepted"]:
        assert author(given).to_dict() == authored_part(manifest, given)
    else:
        assert set(verdict["errors"]) <= refusal(given)


def relational_rule(given):
    """What cdk8s-plus checks about an autoscaler and its workload is left to lint."""
    return "replicas-on-target" if "replicas" in given["target"] else "request-missing"


def assert_verdict(manifest, verdict):
    hpa = HPA.from_dict(manifest)
    texts = words_of(problem for problem in hpa.problems() if problem.severity == "error")
    assert verdict["accepted"] is (not texts), texts
    assert set(verdict["errors"]) <= texts
    if "stored_spec" in verdict:
        assert stored(hpa).to_dict()["spec"] == verdict["stored_spec"]


def words_of(problems):
    """Error messages as validation and as decoding write them."""
    return {text for problem in problems for text in (str(problem), f"decode: {problem.message}")}


def refusal(given):
    """The errors of the constructor; empty if it accepts the input."""
    try:
        author(given)
    except InvalidAutoscaler as error:
        return words_of(error.problems)
    return set()


def author(given):
    target = given["target"]
    return HPA(
        Ref(target["api_version"], target["kind"], target["name"]),
        max_replicas=given["max_replicas"],
        min_replicas=given.get("min_replicas"),
        metrics=[metric(m) for m in given["metrics"]] if "metrics" in given else None,
        scale_up=pace(given.get("scale_up")),
        scale_down=pace(given.get("scale_down")),
        name=given.get("name"),
    )


def pace(given):
    if given is None:
        return None
    limits = [limit(**period(p)) for p in given["policies"]] if "policies" in given else None
    return ScalingRules(limits, window=given.get("window_seconds"), select=given.get("select"))


def period(policy):
    return {"per" if key == "period_seconds" else key: value for key, value in policy.items()}


def metric(given):
    """Made by its constructor, or as a bare Metric where there is no constructor on purpose."""
    kind, name, labels = given["kind"], given["name"], labels_of(given)
    target = {TARGETS[key][0]: value for key, value in given["target"].items()}
    if kind in {"resource", "container_resource"} and name in {"cpu", "memory"} and "value" not in target:
        return {"cpu": cpu, "memory": memory}[name](**target, container=given.get("container"))
    if "utilization" in target or kind in {"resource", "container_resource"}:
        return bare_metric(given)
    if kind == "pods" and "value" not in target:
        return pods(name, **target, labels=labels)
    if kind == "external":
        return external(name, **target, labels=labels)
    if kind == "object":
        return on(described(given), name, **target, labels=labels)
    return bare_metric(given)


def bare_metric(given):
    """A combination that the API server can decode, but mostly refuses by its rules."""
    word, *rest = given["kind"].split("_")
    key = word + "".join(part.capitalize() for part in rest)
    ((field, amount),) = given["target"].items()
    _, amount_key, target_type = TARGETS[field]
    source = {"target": {"type": target_type, amount_key: amount}}
    if key in {"resource", "containerResource"}:
        source |= {part: given[part] for part in ("name", "container") if part in given}
    else:
        source["metric"] = {"name": given["name"], "selector": {"matchLabels": labels_of(given) or {}}}
    if key == "object":
        source["describedObject"] = described(given).write()
    return Metric.read({"type": key[0].upper() + key[1:], key: source})


def labels_of(given):
    return (given.get("selector") or {}).get("match_labels")


def described(given):
    ref = given["described_object"]
    return Ref(ref["api_version"], ref["kind"], ref["name"])


def authored_part(manifest, given):
    """The expected manifest without what its author did not set."""
    spec, given = manifest["spec"], {key: value for key, value in given.items() if value is not None}
    kept = {"scaleTargetRef": spec["scaleTargetRef"], "maxReplicas": spec["maxReplicas"]}
    kept |= {key: spec[key] for name, key in (("min_replicas", "minReplicas"), ("metrics", "metrics")) if name in given}
    sides = {key: given[name] for name, key in (("scale_up", "scaleUp"), ("scale_down", "scaleDown")) if name in given}
    if sides:
        kept["behavior"] = {
            side: {PACE[name]: spec["behavior"][side][PACE[name]] for name in rules} for side, rules in sides.items()
        }
    return {**manifest, "spec": kept}


def workload(target):
    """The target as a manifest."""
    template = {"spec": {"containers": target["containers"]}}
    spec = {"template": template} | ({"replicas": target["replicas"]} if "replicas" in target else {})
    metadata = {"name": target["name"]}
    return {"apiVersion": target["api_version"], "kind": target["kind"], "metadata": metadata, "spec": spec}

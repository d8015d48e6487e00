"""Values for the fields of HorizontalPodAutoscalers, valid and invalid."""

from typing import Any

LABEL_63, LABEL_64 = "a" * 63, "a" * 64
NAME_253, NAME_254 = "b" * 253, "b" * 254
INT32 = (2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63, 10**30 + 1)
TIMES = ("2026-03-02T09:30:00Z", "2026-03-02T09:30:00.5+01:00", "2026-03-02", "2026-13-02T09:30:00Z", "", "now")

QUANTITIES = (
    *("1", "500m", "0", "-1", "1.5Gi", "1e3", "1E3", "+1", "5.", ".5", "0.5", "1.500", "00500m", "1000", "1000m"),
    *("1 ", " 1", "\u00a01\u3000", "1\t", "1\n", "m", ".", "-", "+", "Ei", "e3", "1e-9", "0.1n", "1e-12", "-0.1n"),
    *("", " ", "512MB", "1K", "half", "1,5", "0x10", "1e", "8Ei", "9Ki", "1024Ki", "0Ki", "-1Ki", "0.5Ki", "12e6"),
    *("8Ki", "16Ki", "0.99Ki", "1000Ki", "0.3", "Pi", "Ti", "123456789012345678", "1234567890123456789"),
    *("12345678901Ki", "123456789012Ki", "12345678Mi", "123456789Mi", "12345Gi", "0.0001Ki", "1.2345678901234567"),
    *(1, 0, -1, 5, 0.5, -0.5, 2.0, 1000, 2**63, 10**20, True, False),
)
WHOLE = (0, 1, 2, 3, -1, 5, 100, 1.5, 2.0, "1", "", True, *INT32)
KIND_NAMES = ("Deployment", "deployment", "ReplicationController", "", ".", "..", "a/b", "a%b", "a/%", "...", NAME_254)
REFERENCE_NAMES = ("web", "Web", "", ".", "..", "a/b", "a%b", "web app", "\u00fcml\u00e4ut", NAME_254)
VERSIONS = ("apps/v1", "v1", "", "apps/", "/v1", "/", "a/b/c", "argoproj.io/v1alpha1", "a/b/", "apps", " ")
METRIC_NAMES = ("requests", "", ".", "..", "a/b", "a%b", "queue|depth", "x" * 300, "\u00fc")
RESOURCES = (
    *("cpu", "memory", "", "ephemeral-storage", "storage", "pods", "hugepages-2Mi", "hugepages-", "requests.cpu"),
    *("nvidia.com/gpu", "example.com/", "/gpu", "a/b/c", "requests.nvidia.com/gpu", "kubernetes.io/batch-cpu", "CPU"),
    *("x" * 64, f"{'a' * 254}.com/gpu", "requests.hugepages-2Mi", "sub.kubernetes.io/x", "-cpu", "a b", "gpu"),
    *(f"{'a' * 245}.com/gpu", "EXAMPLE.com/gpu", "limits.memory", "x.kubernetes.io/-", "\u00e9.com/a"),
)
CONTAINERS = ("app", "", "App", "a.b", "-a", "a-", LABEL_63, LABEL_64, "0", "\u00e4")
SELECTORS = (
    *({}, {"matchLabels": {"a": "b"}}, {"matchLabels": {}}, {"matchLabels": {"a b": "/"}}, {"matchLabels": {"a": 1}}),
    *({"matchLabels": {"a": None}}, {"matchLabels": []}, {"matchExpressions": []}, {"matchExpressions": {}}),
    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    {"matchExpressions": [{"key": "a", "operator": "Within", "values": []}, {}]},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]},
    *({"matchExpressions": [None]}, {"matchLabel": {"a": "b"}}, {"matchExpressions": [{"key": "a", "value": "b"}]}),
)
WORDS = ("Utilization", "Value", "AverageValue", "", "utilization", "Percent")
SOURCES = ("Resource", "ContainerResource", "Pods", "Object", "External")

PERCENTAGE = "targetCPUUtilizationPercentage"

# Values for a key, valid and invalid.
POOLS: dict[str, tuple[Any, ...]] = {
    "minReplicas": (0, 0, 0, 1, *WHOLE),
    "maxReplicas": WHOLE,
    "kind": KIND_NAMES,
    "name": (*REFERENCE_NAMES, *METRIC_NAMES),
    "apiVersion": VERSIONS,
    "container": CONTAINERS,
    "selector": SELECTORS,
    "value": (*QUANTITIES, *WHOLE),
    "averageValue": QUANTITIES,
    "averageUtilization": WHOLE,
    "tolerance": (*QUANTITIES, "0.1", "-0.1", "100m", "2"),
    "policies": ([], [{}], [None], None),
    "periodSeconds": (15, 1800, 1801, 3600, *WHOLE),
    "stabilizationWindowSeconds": (0, 3600, 3601, 300, *WHOLE),
    "selectPolicy": ("Max", "Min", "Disabled", "", "max", "Median"),
    "metrics": ([], [{}], [None], None),
    "behavior": ({}, {"scaleUp": {}}, {"scaleUp": None}, None),
    "target": ({}, None),
    "metric": ({}, None),
    "scaleTargetRef": ({}, None),
    PERCENTAGE: WHOLE,
}
TYPES = {
    "metric": (*SOURCES, "", "resource", "Cpu"),
    "target": WORDS,
    "policy": ("Pods", "Percent", "", "pods", "Nodes"),
}
TEXT_MAPS = (
    *({}, {"a": "b"}, {"a": ""}, {"a": None}, {"a": 1}, {"a": True}, {"": "b"}, {"a b": "c"}, {"example.com/A": "b"}),
    *({"a/b/c": "d"}, {"/a": "b"}, {"Example.com/a": "b"}, {LABEL_63: "x"}, {LABEL_64: "x"}, {"a": LABEL_64}, [], ""),
    *(
        {"a": "x y"},
        {"a": "-x"},
        {"a": "x" * 70},
        {f"{'c' * 254}/a": "b"},
        {"a/": "b"},
        {"\u00e4": "b"},
        {"a": "\u00e4"},
    ),
    {"a": "\u00e4" * 62},
)
OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"}
OWNERS = (
    *([], [OWNER], [None], [{}], {}, [{**OWNER, "uid": ""}], [{**OWNER, "uid": 1}], [{**OWNER, "apiVersion": "a/b/c"}]),
    *([{**OWNER, "apiVersion": word}] for word in ("", "/", "apps/", "/v1", "v1")),
    *([{**OWNER, "kind": ""}], [{**OWNER, "name": ""}], [{**OWNER, "controller": True}], [{**OWNER, "controller": 1}]),
    *(
        [{**OWNER, "controller": True}, {**OWNER, "controller": True}],
        [OWNER, {**OWNER, "controller": False}, OWNER],
        [{**OWNER, "controller": True}, OWNER],
    ),
    *([{**OWNER, "apiVersion": "v1", "kind": "Event"}], [{**OWNER, "namespace": "x"}]),
    [{**OWNER, "blockOwnerDeletion": False}],
    [OWNER, {**OWNER, "controller": False}, OWNER],
    [{**OWNER, "controller": True}, {**OWNER, "controller": True, "uid": "2"}],
)
MANAGED = {"manager": "me", "operation": "Update", "apiVersion": "autoscaling/v2", "fieldsType": "FieldsV1"}
METADATA: dict[str, tuple[Any, ...]] = {
    "name": (
        "web",
        "Web",
        "",
        "a.b",
        "a..b",
        "-a",
        "a-",
        "a_b",
        LABEL_64,
        NAME_253,
        NAME_254,
        5,
        None,
        "\u00e4",
        "a\n",
    ),
    "generateName": (
        "web-",
        "web",
        "Web-",
        "",
        "-",
        "a--",
        "W",
        "a.",
        "a.-",
        "a_-",
        NAME_253,
        NAME_254,
        5,
        LABEL_63,
        ".a",
    ),
    "namespace": ("", None, "Shop", "a.b", LABEL_64, 5),
    "labels": TEXT_MAPS,
    "annotations": (
        *TEXT_MAPS,
        {"a": "x" * 262144},
        {"a": "x" * 262143},
        {"a": "\u00e4" * 131072},
        {"autoscaling.alpha.kubernetes.io/metrics": "[]"},
        {"autoscaling.alpha.kubernetes.io/behavior": "none", "a": "b"},
        {"ab/autoscaling.alpha.kubernetes.io/x": "y"},
    ),
    "finalizers": (
        *(
            [],
            ["example.com/a"],
            ["orphan"],
            ["a b"],
            [""],
            [None],
            [1],
            "orphan",
            {},
            ["orphan", "foregroundDeletion"],
        ),
        *(["foregroundDeletion"], ["a/b/c"], [LABEL_64], ["kubernetes"]),
    ),
    "ownerReferences": OWNERS,
    "managedFields": (
        *([], [MANAGED], [{**MANAGED, "operation": "Replace"}], [{}], [None], [{**MANAGED, "operation": 1}], "x"),
        *([{**MANAGED, "time": "now"}], [{**MANAGED, "fieldsV1": {"f:spec": {}}}], [{**MANAGED, "fieldsV1": "x"}]),
        *([{**MANAGED, "extra": 1}], [{**MANAGED, "fieldsType": "x"}], [{**MANAGED, "manager": "m" * 200}]),
        [{**MANAGED, "subresource": "status"}],
    ),
    "generation": (0, 1, -1, "1", 2**63, 1.5, None),
    "creationTimestamp": (None, *TIMES, 5),
    "deletionTimestamp": (None, *TIMES),
    "deletionGracePeriodSeconds": (0, -1, 2**63, "1"),
    "uid": ("x", "", 5),
    "selfLink": ("/x", 5),
    "clusterName": ("x", None),
    "Name": ("x",),
}
STATUS: dict[str, tuple[Any, ...]] = {
    "currentReplicas": (0, 1, -1, "1", 1.5, 2**31),
    "desiredReplicas": (0, 1, -1, "1"),
    "observedGeneration": (1, -1, "1", 2**63, 2**31),
    "lastScaleTime": TIMES,
    "conditions": (
        *(
            [],
            {},
            [None],
            [{}],
            [{"type": 1}],
            [{"type": "AbleToScale", "status": "True", "reason": "r", "message": "m"}],
        ),
        [{"observedGeneration": "1"}],
        *([{"lastTransitionTime": "x"}], [{"lastTransitionTime": TIMES[0]}], [{"why": "x"}]),
    ),
    "currentMetrics": (
        *([], [None], [{}], [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5}}}]),
        *([{"resource": {"current": {"averageValue": "x"}}}], [{"pods": {"current": {"averageValue": " 1m"}}}]),
        *([{"object": {"describedObject": {"kind": 5}}}], [{"external": {"metric": {"selector": {"matchLabels": 5}}}}]),
        *([{"containerResource": {"container": "app"}}], [{"containerResource": {"container": 1}}]),
        *(
            [{"external": {"current": {"value": "1", "averageValue": "1m"}}}],
            [{"external": {"current": {"value": "x"}}}],
        ),
        *([{"object": {"current": {"value": "1"}}}], [{"pods": {"metric": {"name": "rps"}}}]),
        *([{"containerResource": {"container": None, "current": {"value": 1}}}], [{"resource": {"target": {}}}]),
    ),
    "replicas": (1,),
    "currentCPUUtilizationPercentage": (5, "5"),
}
JUNK = (None, True, False, 0, 1, -7, 2.5, "", "x", "1", [], [None], ["x"], {}, {"x": 1}, 2**31, 2**63)

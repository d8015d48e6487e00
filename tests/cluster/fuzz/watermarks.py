"""WatermarkPodAutoscaler manifests: valid ones, and ones with faults in any place that the tables know."""

from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.changes import Changes, Manifest, changed
from cluster.fuzz.odd_values import MAX_INT32, MAX_INT64, junk, odd_amounts, odd_texts, odd_whole
from hypot.core.quantity import Quantity
from hypot.kinds.node import BOOL, FRACTION, INT32, STRING, STRINGS, WHOLE_OR_QUANTITY
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import ALGORITHMS, CONVERGENCES, TLS_VERSIONS
from hypot.kinds.wpa.rules import MAX_METRICS, MAX_SELECTOR_ENTRIES, OPERATORS, VALUES_NEEDED

# Valid manifests.

_AMOUNTS = (
    *(1, 2, 7, 1000, MAX_INT64),
    *("1n", "100u", "1m", "500m", "0.5", ".5", "1.50", "3.", "+3", "007", "1", "99999", "2k", "1.5M", "3G", "2T"),
    *("1P", "4E", "1Ki", "1.5Mi", "0.1Gi", "2Ti", "3Pi", "7Ei", "9Ei", "1e3", "5E-2", "1e99", "1E+07", "0.0000000001"),
    *("9" * 64, "0." + "1" * 62, "9" * 62 + "Ki"),
)
amounts = st.sampled_from(_AMOUNTS)
message = st.sampled_from(["a", "queue.length", "x/y", "Ünicode text", " "])
keys = st.sampled_from(["app", "example.com/team", "short_image", "a" * 63])
texts = st.dictionaries(keys, st.sampled_from(["", "web", "a b", "é"]), max_size=3)
whole = st.sampled_from([1, 2, 60, 3600, MAX_INT32])
whole_or_none = st.sampled_from([0, 1, 60, MAX_INT32])
yes_or_no = st.booleans()


def _low_and_high(pair: tuple[Any, Any]) -> Manifest:
    low, high = sorted(pair, key=Quantity.parse)
    return {"lowWatermark": low, "highWatermark": high}


both_marks = st.tuples(amounts, amounts).map(_low_and_high)
marks = st.one_of(
    both_marks,
    amounts.map(lambda high: {"highWatermark": high}),
    amounts.map(lambda low: {"lowWatermark": low}),
    amounts.map(lambda high: {"highWatermark": high, "lowWatermark": 0}),
)
requirements = st.sampled_from(OPERATORS).flatmap(
    lambda operator: st.fixed_dictionaries(
        {"key": keys, "operator": st.just(operator)}
        | ({"values": st.lists(message, min_size=1, max_size=2)} if operator in VALUES_NEEDED else {}),
        optional={} if operator in VALUES_NEEDED else {"values": st.just([])},
    )
)
selectors = st.fixed_dictionaries(
    {}, optional={"matchLabels": texts, "matchExpressions": st.lists(requirements, max_size=2)}
)


def _block(name: str) -> st.SearchStrategy[Manifest]:
    named = st.fixed_dictionaries({name: message, "metricSelector": selectors})
    return st.tuples(named, marks).map(lambda parts: parts[0] | parts[1])


blocks = {"External": _block("metricName"), "Resource": _block("name")}
metrics = st.sampled_from(["External", "Resource"]).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"type": st.just(kind), kind.lower(): blocks[kind]},
        optional={"resource": blocks["Resource"]} if kind == "External" else {"external": blocks["External"]},
    )
)
tls = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("caFile", "certFile", "keyFile", "serverName"), message),
        **dict.fromkeys(("minVersion", "maxVersion"), st.sampled_from(TLS_VERSIONS)),
        "insecureSkipVerify": yes_or_no,
    },
)
recommenders = st.tuples(
    st.fixed_dictionaries(
        {"url": st.sampled_from(["http://a", "https://advice.example/path?q=1", "https:///"])},
        optional={"targetType": message, "settings": texts, "tlsConfig": tls},
    ),
    both_marks,
).map(lambda parts: parts[0] | parts[1])
measures = st.one_of(
    st.lists(metrics, min_size=1, max_size=3).map(lambda chosen: {"metrics": chosen}),
    recommenders.map(lambda chosen: {"recommender": chosen}),
    recommenders.map(lambda chosen: {"recommender": chosen, "metrics": []}),
)
targets = st.fixed_dictionaries(
    {"kind": st.sampled_from(["Deployment", "Rollout", ".."]), "name": st.sampled_from(["web", "a/b"])},
    optional={"apiVersion": st.sampled_from(["", "v1", "apps/v1", "/"])},
)
tolerances = st.sampled_from([0, 1, 0.01, 0.5, 1.0, "0", "1", "0.01", "10m", "1000m", "+.5", "1.000", "5u", "7n"])
up_factors = st.sampled_from([0, 1, 50, 300, "0", "500m", "1e3", "2Ki"])
down_factors = st.sampled_from([0, 1, 20, 99, "0", "500m", "99.9", "1e1", "99999m"])
fields = st.fixed_dictionaries(
    {"scaleTargetRef": targets, "maxReplicas": st.sampled_from([4, 9, MAX_INT32])},
    optional={
        "minReplicas": st.integers(1, 4),
        "algorithm": st.sampled_from(ALGORITHMS),
        "tolerance": tolerances,
        "scaleUpLimitFactor": up_factors,
        "scaleDownLimitFactor": down_factors,
        "upscaleForbiddenWindowSeconds": whole,
        "downscaleForbiddenWindowSeconds": whole,
        "upscaleDelayAboveWatermarkSeconds": whole_or_none,
        "downscaleDelayBelowWatermarkSeconds": whole_or_none,
        "replicaScalingAbsoluteModulo": whole,
        "convergeTowardsWatermark": st.sampled_from(["", *CONVERGENCES]),
        "dryRun": yes_or_no,
        "tolerateZero": yes_or_no,
        "minAvailableReplicaPercentage": st.sampled_from([0, 1, 100]),
        "readinessDelaySeconds": whole,
    },
)
specs = st.tuples(fields, measures).map(lambda parts: parts[0] | parts[1])
sound_metadata = st.fixed_dictionaries(
    {"name": st.sampled_from(["web", "a.b-c", "0", "a" * 253])},
    optional={
        "labels": st.dictionaries(keys, st.sampled_from(["", "web", "A_b.c-1"]), min_size=1, max_size=2),
        "annotations": st.dictionaries(keys, st.sampled_from(["", "true", "any\ntext"]), min_size=1, max_size=2),
    },
)


def manifest_of(metadata: Manifest, spec: Manifest) -> Manifest:
    return {"apiVersion": WPA.API_VERSION, "kind": WPA.KIND, "metadata": metadata, "spec": spec}


sound = st.builds(manifest_of, sound_metadata, specs)

# Values on both sides of the limits of the rules.

odd_words = st.sampled_from(
    (
        *("", " ", "a", "A", "a/b", "a/b/c", "/", "//", "a\n", "\n", "\x00", "é" * 300, "null", "external", "resource"),
        *("External", "Resource", "Pods", "Average", "highWatermark", "in", "Gt", *OPERATORS),
        *("TLS14", "tls12", "1.2"),
        *("http://", "https://", "http://a", "https://a b", "HTTP://a", "http:/a", " http://a", "http://\n"),
        *("http://\n/", "ftp://a", "httpss://a", "http://é", "http://\u2028", "\nhttp://a", "a http://a"),
    )
)
odd_marks = st.one_of(amounts, odd_amounts)
odd_shares = st.one_of(
    tolerances,
    odd_marks,
    st.floats(-0.5, 1.5),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "+", "-", "0", "00"]),
        st.sampled_from(
            ["0", "1", "2", "999", "1000", "1001", "999999", "1000000", "1000001", "1000000000", "1000000001"]
        ),
        st.sampled_from(["", ".", ".0", ".5", "m", ".0m", ".5m", "u", ".0u", ".5u", "n", ".n", ".5n", "k", "\n"]),
    ),
)
odd_maps = st.one_of(
    texts,
    odd_texts,
    st.integers(MAX_SELECTOR_ENTRIES - 1, MAX_SELECTOR_ENTRIES + 1).map(lambda n: {f"k{i}": "v" for i in range(n)}),
)
CHANGES = Changes(
    WPA,
    (
        (INT32, odd_whole),
        (STRING, odd_words),
        (BOOL, junk),
        (STRINGS, odd_maps),
        (WHOLE_OR_QUANTITY, odd_marks),
        (FRACTION, odd_shares),
    ),
    (0, 1, 2, MAX_METRICS, MAX_METRICS + 1, MAX_SELECTOR_ENTRIES, MAX_SELECTOR_ENTRIES + 1),
)
manifests = changed(sound, CHANGES)

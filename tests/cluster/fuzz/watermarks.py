"""WatermarkPodAutoscalers as manifests: sound ones, and ones with faults in any place that the tables know."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from hypot.core.quantity import Quantity
from hypot.kinds.crd import facts_of
from hypot.kinds.node import BOOL, FRACTION, INT32, STRING, STRINGS, WHOLE_OR_QUANTITY, Node, Scalar
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa_parts import ALGORITHMS, CONVERGENCES, TLS_VERSIONS
from hypot.kinds.wpa_rules import MAX_METRICS, MAX_SELECTOR_ENTRIES, OPERATORS, VALUES_NEEDED

Manifest = dict[str, Any]
Path = tuple[str | int, ...]

ABSENT = object()
MAX_INT32, MAX_INT64 = 2**31 - 1, 2**63 - 1

# Sound manifests.

_AMOUNTS = (
    *(1, 2, 7, 1000, MAX_INT64),
    *("1n", "100u", "1m", "500m", "0.5", ".5", "1.50", "3.", "+3", "007", "1", "99999", "2k", "1.5M", "3G", "2T"),
    *("1P", "4E", "1Ki", "1.5Mi", "0.1Gi", "2Ti", "3Pi", "7Ei", "9Ei", "1e3", "5E-2", "1e99", "1E+07", "0.0000000001"),
    *("9" * 64, "0." + "1" * 62, "9" * 62 + "Ki"),
)
amounts = st.sampled_from(_AMOUNTS)
words = st.sampled_from(["a", "queue.length", "x/y", "Ünicode text", " "])
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
        | ({"values": st.lists(words, min_size=1, max_size=2)} if operator in VALUES_NEEDED else {}),
        optional={} if operator in VALUES_NEEDED else {"values": st.just([])},
    )
)
selectors = st.fixed_dictionaries(
    {}, optional={"matchLabels": texts, "matchExpressions": st.lists(requirements, max_size=2)}
)


def _block(name: str) -> st.SearchStrategy[Manifest]:
    named = st.fixed_dictionaries({name: words, "metricSelector": selectors})
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
        **dict.fromkeys(("caFile", "certFile", "keyFile", "serverName"), words),
        **dict.fromkeys(("minVersion", "maxVersion"), st.sampled_from(TLS_VERSIONS)),
        "insecureSkipVerify": yes_or_no,
    },
)
recommenders = st.tuples(
    st.fixed_dictionaries(
        {"url": st.sampled_from(["http://a", "https://advice.example/path?q=1", "https:///"])},
        optional={"targetType": words, "settings": texts, "tlsConfig": tls},
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

# Values around every rule: some are sound, some are not, and nobody says here which.

odd_whole = st.sampled_from(
    (
        *(-(2**31) - 1, -(2**31), -1, 0, 1, 2, 3, 5, 99, 100, 101, MAX_INT32, MAX_INT32 + 1, MAX_INT64, MAX_INT64 + 1),
        *(0.0, -0.0, 1.0, 1.5, 1e3, 1e300, "1", ""),
    )
)
odd_words = st.sampled_from(
    (
        *("", " ", "a", "A", "a/b", "a/b/c", "/", "//", "a\n", "\n", "\x00", "é" * 300, "null", "external", "resource"),
        *(
            "External",
            "Resource",
            "Pods",
            *ALGORITHMS,
            "Average",
            *CONVERGENCES,
            "highWatermark",
            *OPERATORS,
            "in",
            "Gt",
        ),
        *(*TLS_VERSIONS, "TLS14", "tls12", "1.2"),
        *("http://", "https://", "http://a", "https://a b", "HTTP://a", "http:/a", " http://a", "http://\n"),
        *("http://\n/", "ftp://a", "httpss://a", "http://é", "http://\u2028", "\nhttp://a", "a http://a"),
    )
)
_SIGNS = ("", "", "", "+", "-", "--", "+-", " ")
_DIGITS = (
    *("", "0", "1", "00", "12", "007", "100", "999", "1000", "1001", "9" * 18, "9" * 19, "9" * 30),
    *("\N{ARABIC-INDIC DIGIT ONE}", "0x1", "1_0"),
)
_FRACTIONS = ("", "", "", ".", ".0", ".5", ".999", ".000000001", ".0000000001", ".1.1", ",5")
_SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENTS = ("e0", "e3", "E3", "e-3", "E+3", "e+03", "e-9", "e-10", "e18", "e99", "E-99", "e100", "e003", "e", "e+")
_WRONG_SUFFIXES = ("K", "mi", "ki", "Ki ", "kk", "mm", "%", "s", "e1.5", "e.5", " ", "\n", "\x00", "µ", "i", "Eix")
spelled = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(_SIGNS),
    st.sampled_from(_DIGITS),
    st.sampled_from(_FRACTIONS),
    st.one_of(st.sampled_from(_SUFFIXES), st.sampled_from(_EXPONENTS), st.sampled_from(_WRONG_SUFFIXES)),
)
long_texts = st.builds(
    lambda head, digit, length, tail: head + digit * (length - len(head + tail)) + tail,
    st.sampled_from(["", "-", "0.", "1."]),
    st.sampled_from(["0", "1", "9"]),
    st.integers(63, 65),
    st.sampled_from(["", "1", "m", "Ei", "e3"]),
)
odd_numbers = st.sampled_from(
    (
        *(0, 1, -1, 50, 99, 100, 101, MAX_INT64, MAX_INT64 + 1, -(2**63), -(2**63) - 1, 10**30),
        *(-0.0, 0.0, 0.5, 1.0, 1e3, 1e-320, -1e-9, 1.0000000000000002, 1e300),
    )
)
odd_amounts = st.one_of(amounts, spelled, long_texts, odd_numbers, st.text("0123456789.eE+-numkKMGTPEi", max_size=6))
odd_shares = st.one_of(
    tolerances,
    odd_amounts,
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
junk = st.sampled_from(
    [None, True, False, 0, 1, -1, 1.5, "", "x", "1", [], ["x"], [None], [{}], {}, {"x": 1}, {"": None}, [[]], {"x": {}}]
)
odd_texts = st.one_of(
    texts,
    st.dictionaries(st.sampled_from(["", "a", "a b", "é", "x/y/z"]), st.sampled_from(["", "é", None, 1, True, [], {}])),
    st.integers(MAX_SELECTOR_ENTRIES - 1, MAX_SELECTOR_ENTRIES + 1).map(lambda n: {f"k{i}": "v" for i in range(n)}),
)
odd_lists = st.lists(st.sampled_from(["", "a", "é", None, 1, True, [], {}]), max_size=2)
_ODD: tuple[tuple[Scalar, st.SearchStrategy[Any]], ...] = (
    (INT32, odd_whole),
    (STRING, odd_words),
    (BOOL, junk),
    (STRINGS, odd_texts),
    (WHOLE_OR_QUANTITY, odd_amounts),
    (FRACTION, odd_shares),
)
_COUNTS = (0, 1, 2, MAX_METRICS, MAX_METRICS + 1, MAX_SELECTOR_ENTRIES, MAX_SELECTOR_ENTRIES + 1)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place where something may stand; `many` for a list of parts, which are found at 0 and up."""

    path: Path
    type: Scalar | type[Node]
    many: bool = False


def spots(part: type[Node] = WPA, path: Path = ("spec",)) -> Iterator[Spot]:
    """Every place of a spec, whether a given manifest has it or not."""
    shapes = facts_of(WPA).shapes
    for _, w in part.TABLE:
        kind = shapes.get((part, w.key), w.type)
        here = (*path, w.key)
        yield Spot(here, kind, w.many)
        if not isinstance(kind, Scalar):
            yield from spots(kind, (*here, 0) if w.many else here)


SPOTS = tuple(spots())
_LEAVES = tuple(spot for spot in SPOTS if isinstance(spot.type, Scalar))
_PARTS = tuple(spot for spot in SPOTS if not isinstance(spot.type, Scalar))


def put(manifest: Manifest, path: Path, value: Any) -> None:
    """Change a manifest in place; its parents are made where they are missing, unless something else stands there."""
    here: Any = manifest
    for part, following in pairwise(path):
        if isinstance(part, int) and here == []:
            here.append({})
        elif isinstance(part, str) and isinstance(here, dict):
            here.setdefault(part, [] if isinstance(following, int) else {})
        here = look(here, (part,))
    if not isinstance(here, dict):
        return
    if value is ABSENT:
        here.pop(path[-1], None)
    else:
        here[path[-1]] = deepcopy(value)


def look(manifest: Any, path: Path) -> Any:
    here = manifest
    for part in path:
        try:
            here = here[part]
        except (LookupError, TypeError):
            return ABSENT
    return here


def _odd(spot: Spot) -> st.SearchStrategy[Any]:
    """Mostly of the right type, which is where the rules are."""
    fitting = next((values for kind, values in _ODD if kind is spot.type), odd_lists)
    return st.one_of(fitting, fitting, fitting, fitting, junk, st.just(ABSENT))


def _change_any(draw: st.DrawFn, manifest: Manifest) -> None:
    spot = draw(st.sampled_from(_LEAVES))
    put(manifest, spot.path, draw(_odd(spot)))


def _change_present(draw: st.DrawFn, manifest: Manifest) -> None:
    """Only where something stands, so that more of the manifest stays sound."""
    present = [spot for spot in _LEAVES if look(manifest, spot.path) is not ABSENT]
    if present:
        spot = draw(st.sampled_from(present))
        put(manifest, spot.path, draw(_odd(spot)))


def _change_part(draw: st.DrawFn, manifest: Manifest) -> None:
    spot = draw(st.sampled_from(_PARTS))
    put(manifest, spot.path, draw(st.one_of(junk, st.just(ABSENT))))


def _repeat(draw: st.DrawFn, manifest: Manifest) -> None:
    """Many of the first entry of a list, or none."""
    spot = draw(st.sampled_from([spot for spot in _PARTS if spot.many]))
    held = look(manifest, spot.path)
    if isinstance(held, list) and held:
        put(manifest, spot.path, [deepcopy(held[0]) for _ in range(draw(st.sampled_from(_COUNTS)))])


def _add_stranger(draw: st.DrawFn, manifest: Manifest) -> None:
    paths = [(), ("spec",), ("metadata",), *((*spot.path, 0) if spot.many else spot.path for spot in _PARTS)]
    path = draw(st.sampled_from([path for path in paths if isinstance(look(manifest, path), dict)]))
    put(manifest, (*path, draw(st.sampled_from(["x", "", "maxreplicas", "Spec", "é", "a.b", "a/b"]))), draw(junk))


_NAMES = ["Web", "web_1", "-a", "a-", "a..b", "a.b", "a" * 253, "a" * 254, "", "é", "a\n", None, 1, [], "a/b", ".."]
_LABELS = [None, {}, [], "x", {"a": 1}, {"a": None}, {"": "x"}, {"a/b/c": "x"}, {"A": "x"}, {"a": "x" * 64}, {"a": "é"}]
_LABELS += [{"a" * 64: "x"}, {"/a": "x"}, {"A.b/c": "x"}, {"a.b/c": "x"}, {"a": "-x"}, {"a": "x\n"}, {"a": "x y"}]
_OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}


def _change_outer(draw: st.DrawFn, manifest: Manifest) -> None:
    choices: dict[Path, list[Any]] = {
        ("metadata", "name"): [ABSENT, *_NAMES],
        ("metadata", "labels"): _LABELS,
        ("metadata", "annotations"): _LABELS,
        ("metadata", "generateName"): ["web-", "Web-", "a.-", "-", "", "a" * 253, "a" * 254, None, 1],
        ("metadata", "finalizers"): [[], ["x"], ["a.b/c"], ["a b"], [""], [None], [1], "x", None, ["x" * 64]],
        ("metadata", "ownerReferences"): [[], [_OWNER], [_OWNER | {"uid": ""}], [_OWNER | {"x": 1}], [{}], [None]],
        ("metadata",): [{}, [], None, "x", ABSENT],
        ("spec",): [{}, [], None, "x", ABSENT],
        ("status",): [{}, [], None, "x", {"currentReplicas": "x"}, {"currentReplicas": 1, "x": None}],
    }
    path = draw(st.sampled_from(list(choices)))
    put(manifest, path, draw(st.sampled_from(choices[path])))


_CHANGES = (*[_change_present] * 8, *[_change_any] * 4, _change_part, _repeat, _add_stranger, _change_outer)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Sound, with one fault, or with several; a change need not be a fault."""
    manifest = deepcopy(draw(sound))
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2, 3, 4]))):
        draw(st.sampled_from(_CHANGES))(draw, manifest)
    return manifest

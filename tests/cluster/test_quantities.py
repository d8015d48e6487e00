"""hypot reads and prints quantities as the API server does, in autoscalers and in pods."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cluster.fuzz.many import fuzzing
from cluster.fuzz.quantity_texts import numerals, texts
from cluster.fuzz.verdicts import STRICT_DRY_RUN, as_json, post
from cluster.plane.api import Api
from hypot.core.quantity import Quantity, QuantityError, stored_text
from hypot.kinds.text.load import LoadError, load

MILLI = 10**6
REFUSED, NOT_POSITIVE, NEGATIVE = "refused", "not positive", "negative"
ODD = [True, False, [], {}, "null", " ", "0", 5, 0.5, 2.0, 2**63, 10**30, "\u00a0+1", "1.500", "m", "Ei", ".e-10"]


def autoscaler(values: list[Any]) -> dict[str, Any]:
    """One metric for each value."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    sources = [{"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": one}} for one in values]
    spec = {
        "maxReplicas": 3,
        "scaleTargetRef": target,
        "metrics": [{"type": "External", "external": s} for s in sources],
    }
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "q"}, "spec": spec}


def pod(values: list[Any]) -> dict[str, Any]:
    """One container for each value."""
    containers = [
        {"name": f"c{i}", "image": "x", "resources": {"requests": {"cpu": one}}} for i, one in enumerate(values)
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": {"containers": containers}}


def as_targets(api: Api, namespace: str, values: list[Any]) -> list[str] | str:
    """How the server shows the values, or why it refuses them."""
    answer = post(api, namespace, as_json(autoscaler(values)))
    if not answer.ok:
        return {400: REFUSED, 422: NOT_POSITIVE}[answer.status]
    return [metric["external"]["target"]["averageValue"] for metric in answer.body["spec"]["metrics"]]


def as_requests(api: Api, namespace: str, values: list[Any]) -> list[str] | str:
    path = f"/api/v1/namespaces/{namespace}/pods"
    answer = api.call("POST", path, as_json(pod(values)), query=STRICT_DRY_RUN)
    if not answer.ok:
        return {400: REFUSED, 422: NEGATIVE}[answer.status]
    return [one["resources"]["requests"]["cpu"] for one in answer.body["spec"]["containers"]]


def target(value: Any) -> str:
    """The verdict of hypot on a metric's target."""
    try:
        return stored_text(value) if Quantity.parse(value).sign > 0 else NOT_POSITIVE
    except QuantityError:
        return REFUSED


def request(value: Any) -> str:
    """The same for a pod's request, which is rounded up to whole milli-units."""
    try:
        quantity = Quantity.parse(value)
    except QuantityError:
        return REFUSED
    if quantity.sign < 0:
        return NEGATIVE
    rounded = Quantity(quantity.milli * MILLI, quantity.style)
    return stored_text(value) if rounded == quantity else stored_text(str(rounded))


def loses_its_suffix(value: Any) -> bool:
    """Go's library has no suffix beyond E and prints a thousand of them as 1, which hypot does not imitate."""
    try:
        quantity = Quantity.parse(value)
    except QuantityError:
        return False
    return quantity.style == "DecimalSI" and str(quantity).endswith("000E")


def absurd(value: Any) -> bool:
    """Whether the exponent is beyond what hypot reads."""
    exponent = re.search(r"[eE]([+-]?[0-9]+)", str(value))
    return exponent is not None and abs(int(exponent[1])) > 150


def together(asked: Any, expected: dict[int, str], values: list[Any]) -> None:
    """Send the valid values in one object, the invalid values each in its own."""
    good = [i for i, said in expected.items() if said not in {REFUSED, NOT_POSITIVE, NEGATIVE}]
    if good:
        assert asked([values[i] for i in good]) == [expected[i] for i in good], f"of {[values[i] for i in good]!r}"
    for i in expected.keys() - set(good):
        assert asked([values[i]]) == expected[i], f"of {values[i]!r}"


def test_random_quantities(api: Api, namespace: str, report: Callable[[str], None]) -> None:
    """Both accept or refuse a quantity, and print it the same, as metric target and as pod request."""
    seen: Counter[str] = Counter()

    @fuzzing()
    @example(ODD)
    @given(st.lists(texts, min_size=1, max_size=15))
    def check(values: list[Any]) -> None:
        values = [value for value in values if not loses_its_suffix(value) and not absurd(value)]
        targets = {i: target(value) for i, value in enumerate(values)}
        together(lambda some: as_targets(api, namespace, some), targets, values)
        requests = {i: request(value) for i, value in enumerate(values)}
        together(lambda some: as_requests(api, namespace, some), requests, values)
        seen.update(kind_of(value, said) for value, said in zip(values, targets.values(), strict=True))

    check()
    report(f"quantities: {', '.join(f'{number} {word}' for word, number in seen.most_common())}")
    assert min(seen[word] for word in (REFUSED, NOT_POSITIVE, "as it came", "in canonical form", "trimmed")) >= 30


def kind_of(value: Any, said: str) -> str:
    if said in {REFUSED, NOT_POSITIVE}:
        return said
    if said == value:
        return "as it came"
    return "trimmed" if str(value) != str(value).strip() else "in canonical form"


def test_random_numbers_in_files(api: Api, namespace: str, tmp_path: Path) -> None:
    """Numbers in YAML are read and printed as Kubernetes does it."""
    file = tmp_path / "hpa.yaml"

    @fuzzing()
    @given(numerals)
    def check(numeral: str) -> None:
        text = as_json(autoscaler(["here"])).decode().replace('"here"', numeral)
        file.write_text(f"---\n{text}\n", encoding="utf-8")
        answer = post(api, namespace, file.read_bytes(), content="application/yaml")
        shown = {400: REFUSED, 422: NOT_POSITIVE}.get(answer.status) or value_in(answer.body)
        try:
            (loaded,) = load([str(file)])
        except LoadError:
            assert shown == REFUSED
            return
        assert target(value_in(loaded.data)) == shown, f"of {numeral}"

    check()


def value_in(data: Any) -> Any:
    return data["spec"]["metrics"][0]["external"]["target"]["averageValue"]


@pytest.mark.parametrize(("text", "shown"), [("1000E", "1"), ("72000E", "72"), ("2000.E", "2")])
def test_a_thousand_exa_lose_their_suffix(api: Api, namespace: str, text: str, shown: str) -> None:
    """A bug of Go's library that hypot does not have; once it is fixed, `loses_its_suffix` can go."""
    assert as_targets(api, namespace, [text]) == [shown]
    assert loses_its_suffix(text)

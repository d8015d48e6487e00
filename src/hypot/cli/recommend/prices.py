"""What an hour costs on each class of nodes, from a file."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, NamedTuple

from hypot.cli.files import BadInput
from hypot.cli.mapping import read_mapping
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.values.nested import inner
from hypot.replay.advice.calibration import Price

_EXAMPLE = "classes: {general: {cpu: 0.04, memory: 0.0044}}"
_GIB, _GB = 2**30, 10**9
_RESOURCES = ("cpu", "memory")


class NodePrices(NamedTuple):
    """The price of each class of nodes, and which class counts where a pod names none."""

    classes: Mapping[str, Price]
    default: str | None = None

    def of(self, workload: LoadedFiles | None) -> Price | None:
        """That of the class which its pods select; None leaves the price to the world."""
        selected = inner(workload.data, "spec", "template", "spec", "nodeSelector") if workload is not None else {}
        named = [str(value) for value in selected.values() if str(value) in self.classes]
        return self.classes.get(named[0] if named else self.default or "")


def read_prices(file: str | None) -> NodePrices:
    """The prices of a file: dollars for a core and for a gibibyte, for an hour."""
    if file is None:
        return NodePrices({})
    data = read_mapping(file, "prices", _EXAMPLE)
    if problems := list(_problems(data)):
        raise BadInput("\n".join(f"{file}: {one}" for one in problems))
    classes = {
        str(name): Price(float(each["cpu"]), float(each["memory"]) * _GB / _GIB, f"class {name} ({file})")
        for name, each in data["classes"].items()
    }
    return NodePrices(classes, data.get("default"))


def _problems(data: Mapping[str, Any]) -> Iterator[str]:
    for key in data:
        if key not in {"classes", "default"}:
            yield f"{key}: unknown; write classes and default"
    classes = data.get("classes")
    if not isinstance(classes, dict) or not classes:
        yield f"classes: write a mapping of names to prices, such as {_EXAMPLE}"
        return
    for name, each in classes.items():
        yield from _class_problems(f"classes.{name}", each)
    default = data.get("default")
    if default is not None and default not in classes:
        yield f"default: {default} is none of the classes: {', '.join(map(str, classes))}"


def _class_problems(where: str, each: Any) -> Iterator[str]:
    if not isinstance(each, dict):
        yield f"{where}: write the price of a core and of a gibibyte, such as {{cpu: 0.04, memory: 0.0044}}"
        return
    for key in each:
        if key not in _RESOURCES:
            yield f"{where}.{key}: unknown; write cpu and memory"
    for resource in _RESOURCES:
        if not _is_price(each.get(resource)):
            yield f"{where}.{resource}: write dollars for an hour, 0 or more"


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0

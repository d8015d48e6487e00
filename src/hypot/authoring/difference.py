"""What differs between two manifests: in words, and as a JSON merge patch (RFC 7396)."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.core.quantity import Quantity, is_quantity
from hypot.kinds.authored.written import written_part
from hypot.kinds.base import Kind, Ref
from hypot.kinds.catalogue import find_autoscaler
from hypot.kinds.node import QUANTITY, Node, Scalar
from hypot.kinds.problem import Where, dotted, shown
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner

_ABSENT: Any = object()
# The name of a list -> what identifies its items, and how a sentence calls one.
Name = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """What turns one manifest into another: one sentence per change, and a merge patch. False if they are equal.

    >>> change = diff(HPA("deployment/web", max_replicas=10), HPA("deployment/web", max_replicas=20))
    >>> bool(change), change.patch
    (True, {'spec': {'maxReplicas': 20}})
    """

    words: tuple[str, ...]
    patch: Mapping[str, Any]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.words)

    def __str__(self) -> str:
        return "\n".join(self.words)


def diff(a: Kind | Mapping[str, Any], b: Kind | Mapping[str, Any]) -> Difference:
    """What must change in `a` to become `b`.

    Status and the metadata that only the API server writes do not count, nor does a namespace that one side leaves
    out. A key with the value null counts as absent, as for the API server. Amounts are compared as amounts.

    >>> web = HPA("deployment/web", max_replicas=10)
    >>> diff(web, web.replace(max_replicas=20)).words
    ('spec.maxReplicas: 10 → 20',)
    """
    old, new = _comparable(written_part(a)), _comparable(written_part(b))
    for one, other in ((old, new), (new, old)):
        if "namespace" not in inner(other, "metadata"):
            inner(one, "metadata").pop("namespace", None)
    return Difference(tuple(_changes(old, new, ())), _patch(old, new))


class _Quantity:
    """An amount as it is written. Two are equal if they are as much."""

    __slots__ = ("amount", "written")

    def __init__(self, written: str | float) -> None:
        self.written, self.amount = written, Quantity.parse(written)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __str__(self) -> str:
        return str(self.written)


def _comparable(manifest: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _without_nulls(manifest)
    info = find_autoscaler(group_of(made.get("apiVersion")), made.get("kind"))
    if info is not None and made.get("apiVersion") == info.api_version and isinstance(made.get("spec"), dict):
        made["spec"] = _with_quantities(made["spec"], info.kind)
    return made


def _with_quantities(data: dict[str, Any], kind: type[Node]) -> dict[str, Any]:
    """The same mapping with each amount marked, as the fields of the kind say."""
    return {
        key: _marked(value, kind.BY_KEY[key][1].type) if key in kind.BY_KEY else value for key, value in data.items()
    }


def _marked(value: Any, kind: Scalar | type[Node] | None) -> Any:
    if isinstance(value, list):
        return [_marked(item, kind) for item in value]
    if not isinstance(kind, Scalar):
        return _with_quantities(value, kind) if kind is not None and isinstance(value, dict) else value
    if isinstance(value, dict):
        return {key: _marked(item, kind.each) for key, item in value.items()}
    return _Quantity(value) if kind.go == QUANTITY.go and is_quantity(value) else value


def _as_written(value: Any) -> Any:
    """Without the marks of amounts."""
    if isinstance(value, Mapping):
        return {key: _as_written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_written(item) for item in value]
    return value.written if isinstance(value, _Quantity) else value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def _patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        before = old.get(key, _ABSENT)
        if _same(before, value):
            continue
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            patch[key] = _patch(before, value)
        else:
            patch[key] = _as_written(value)
    return patch


def _same(a: Any, b: Any) -> bool:
    """Equality that tells true from 1, and 1.0 from 1."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)


def _changes(old: Any, new: Any, where: Where) -> Iterator[str]:
    if _same(old, new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in (*old, *[key for key in new if key not in old]):
            yield from _changes(old.get(key, _ABSENT), new.get(key, _ABSENT), (*where, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_changes(old, new, where)
    elif isinstance(new, list) and old is _ABSENT and _names(new, where) is not None:
        yield from _list_changes([], new, where)
    elif isinstance(old, list) and new is _ABSENT and _names(old, where) is not None:
        yield from _list_changes(old, [], where)
    else:
        yield f"{dotted(where)}: {_brief(old)} → {_brief(new)}"


def _brief(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = str(value) if isinstance(value, str | _Quantity) and value else shown(_as_written(value))
    return text if len(text) <= 100 else text[:97] + "..."


def _list_changes(old: list[Any], new: list[Any], where: Where) -> Iterator[str]:
    """Items with a name are compared by name, others by their place."""
    named, names = _names(old, where), _names(new, where)
    if named is None or names is None:
        for i in range(max(len(old), len(new))):
            a, b = (items[i] if i < len(items) else _ABSENT for items in (old, new))
            yield from _changes(a, b, (*where, i))
        return
    before, after = dict(zip(named, old, strict=True)), dict(zip(names, new, strict=True))
    for name in (*before, *[name for name in after if name not in before]):
        yield from _item_changes(name, before.get(name, _ABSENT), after.get(name, _ABSENT), where)
    if list(before) != list(after) and before.keys() == after.keys():
        yield f"{dotted(where)}: the order changes to {', '.join(names)}"


def _item_changes(name: str, old: Any, new: Any, where: Where) -> Iterator[str]:
    if _same(old, new):
        return
    if old is _ABSENT or new is _ABSENT:
        done, item = ("added", new) if old is _ABSENT else ("removed", old)
        target = _target_text(item) if where[-1] == "metrics" else ""
        yield f"{dotted(where)}: {name} is {done}{f', with the target {target}' if target and new is item else ''}"
    elif where[-1] == "metrics" and _only_target_differs(old, new):
        yield f"{dotted(where)}: {name}: target {_target_text(old)} → {_target_text(new)}"
    else:
        for change in _changes(old, new, ()):
            yield f"{dotted(where)}: {name}: {change}"


def _names(items: Sequence[Any], where: Where) -> list[str] | None:
    """The names of the items of this list; None if one has none, or two have the same."""
    name = _NAMED.get(where[-1])
    found = [name(item) for item in items] if name is not None else [None]
    texts = [text for text in found if text is not None]
    return texts if len(texts) == len(found) == len(set(texts)) else None


def _container_name(item: Any) -> str | None:
    name = item.get("containerName") if isinstance(item, Mapping) else None
    return f"container {name}" if isinstance(name, str) else None


def _metric_name(metric: Any) -> str | None:
    """Its source, name and selector: what stays the same when only the target changes."""
    source = _source_of(metric)
    if source is None:
        return None
    name = source.get("name") or inner(source, "metric").get("name") or source.get("metricName")
    if not isinstance(name, str):
        return None
    selector = inner(source, "metric").get("selector") or source.get("metricSelector")
    parts = [f"metric {name}"]
    if isinstance(metric["type"], str) and metric["type"] != "Resource":
        parts.append(f"({metric['type']})")
    if isinstance(source.get("container"), str):
        parts.append(f"of container {source['container']}")
    if described := inner(source, "describedObject"):
        parts.append(f"of {Ref.read(described)}")
    if selector:
        parts.append(f"with {_selector_text(selector)}")
    return " ".join(parts)


def _selector_text(selector: Any) -> str:
    """The same text in whatever order the labels are."""
    labels = inner(selector, "matchLabels")
    if isinstance(selector, Mapping) and selector.keys() == {"matchLabels"} and labels:
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items(), key=str))
    return shown(dict(sorted(selector.items(), key=str)) if isinstance(selector, Mapping) else selector)


def _policy_name(policy: Any) -> str | None:
    if not isinstance(policy, Mapping) or "type" not in policy or "periodSeconds" not in policy:
        return None
    return f"policy {policy['type']} per {policy['periodSeconds']} s"


def _interval_name(interval: Any) -> str | None:
    if not isinstance(interval, Mapping):
        return None
    most = interval.get("maxReplicas")
    return "the interval without maxReplicas" if most is None else f"interval up to {most}"


def _source_of(metric: Any) -> dict[str, Any] | None:
    kind = metric.get("type") if isinstance(metric, Mapping) else None
    if not isinstance(kind, str):
        return None
    source = metric.get(kind[:1].lower() + kind[1:])
    return source if isinstance(source, dict) else None


def _only_target_differs(old: Any, new: Any) -> bool:
    rest = [{**(_source_of(one) or {}), "target": None} for one in (old, new)]
    others = [{key: value for key, value in one.items() if key != _key_of(one)} for one in (old, new)]
    return _same(*rest) and _same(*others) and all(_target_text(one) for one in (old, new))


def _key_of(metric: Mapping[str, Any]) -> str:
    return str(metric["type"][:1].lower() + metric["type"][1:])


def _target_text(metric: Any) -> str:
    """The target in a few words; empty if it is not one value of the usual form."""
    target = inner(_source_of(metric) or {}, "target")
    given = [key for key in ("averageUtilization", "averageValue", "value") if key in target]
    if len(given) != 1 or target.keys() - {"type", given[0]}:
        return ""
    amount = target[given[0]]
    return {"averageUtilization": f"{amount} %", "averageValue": f"{amount} per pod"}.get(given[0], f"{amount}")


# Lists whose items have a name, by the key of the list.
_NAMED: Mapping[Hashable, Name] = {
    "metrics": _metric_name,
    "policies": _policy_name,
    "scalingIntervals": _interval_name,
    "containerPolicies": _container_name,
    "resourcePolicy": _container_name,
    "autoscalingPolicy": _container_name,
}

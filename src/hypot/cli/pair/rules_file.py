"""Adds the rule of a pair to a file of rules, and leaves everything else in it as it is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hypot.cli.files import BadInput, check_writable, write_whole
from hypot.kinds.metric_rules.read import RulesError, read_rules, rules_of


class RuleText(NamedTuple):
    """A rule as text: as a file of its own, and as an item of a list."""

    whole: Callable[[dict[str, Any]], str]
    item: Callable[[dict[str, Any]], str]


def add_rule(path: str, rule: dict[str, Any], text: RuleText) -> str:
    """Write the file with this rule; what was done, as text. What people added to the rule stays."""
    check_writable(path)
    if not Path(path).exists():
        write_whole(path, text.whole(rule).encode())
        return f"written: {path}"
    try:
        known = read_rules(path).to_dict()["spec"]["rules"]
        before = Path(path).read_bytes().decode()
    except (RulesError, OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: the rule cannot be added: {error}") from error
    name = rule["name"]
    place = next((i for i, one in enumerate(known) if one["name"] == name), len(known))
    after = rule if place == len(known) else _updated(path, known[place], rule)
    if [after] == known[place:][:1]:
        return f"{path}: the rule {name} is there already"
    made = _with(before, place, text.item(after))
    if made is None or _rules(made) != [*known[:place], after, *known[place + 1 :]]:
        raise BadInput(f"{path}: the rule cannot be added to a file of this form; add it by hand:\n{text.item(after)}")
    write_whole(path, made.encode())
    return f"{'added to' if place == len(known) else 'updated in'} {path}: the rule {name}"


def _updated(path: str, known: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any]:
    """The known rule, scraped as the new one is, and with its metric."""
    same = ("namespaces", "pods")
    if [known.get(key) for key in same] != [rule[key] for key in same]:
        raise BadInput(f"{path}: the rule {rule['name']} chooses other pods: rename or remove it, or name another file")
    [metric] = rule["metrics"]
    scraped = known if "prometheus" in known else {**known, "scrape": {**known["scrape"], **rule["scrape"]}}
    there = any(
        one.get("counter") == metric["counter"] and set(metric["names"]) <= set(one["names"])
        for one in known["metrics"]
    )
    return scraped if there else {**scraped, "metrics": [*known["metrics"], metric]}


def _with(text: str, place: int, item: str) -> str | None:
    """The text with this item of `spec.rules`; None if that list is not written in lines."""
    rules = _at(_at(yaml.compose(text, yaml.SafeLoader), "spec"), "rules")
    if not isinstance(rules, yaml.SequenceNode) or rules.flow_style or not rules.value:
        return None
    lines = text.splitlines()
    indent = " " * rules.start_mark.column
    added = [f"{indent}{line}".rstrip() for line in item.splitlines()]
    last = rules.value[min(place, len(rules.value) - 1)]
    end = _end(last, lines)
    start = end if place == len(rules.value) else last.start_mark.line
    return ("\r\n" if "\r\n" in text else "\n").join([*lines[:start], *added, *lines[end:], ""])


def _end(item: yaml.Node, lines: Sequence[str]) -> int:
    """The line after an item, without the comments and empty lines that follow it."""
    end = item.end_mark.line if item.end_mark.column == 0 or not _is_flow(item) else item.end_mark.line + 1
    while end > item.start_mark.line + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _is_flow(node: yaml.Node) -> bool:
    return bool(getattr(node, "flow_style", False))


def _at(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _rules(text: str) -> Any:
    try:
        return rules_of(yaml.safe_load(text)).to_dict()["spec"]["rules"]
    except (RulesError, yaml.YAMLError, KeyError, TypeError):
        return None

"""Adds the rule of a pair to a file of rules, and leaves everything else in it as it is."""

from pathlib import Path
from typing import Any

import yaml

from hypot.cli.files import BadInput, check_writable, write_whole
from hypot.kinds.metric_rules.read import RulesError, read_rules, rules_of


def add_rule(path: str, rule: dict[str, Any], whole: str, item: str) -> str:
    """Write the file with this rule; what was done, as text.

    `whole` is a file with this rule alone, `item` the rule as an item of a list.
    """
    check_writable(path)
    if not Path(path).exists():
        write_whole(path, whole.encode())
        return f"written: {path}"
    try:
        known = read_rules(path).to_dict()["spec"]["rules"]
    except (RulesError, OSError) as error:
        raise BadInput(f"{path}: the rule cannot be added: {error}") from error
    same = next((one for one in known if one["name"] == rule["name"]), None)
    if same == rule:
        return f"{path}: the rule {rule['name']} is there already"
    if same is not None:
        raise BadInput(f"{path}: has another rule with the name {rule['name']}: remove it, or name another file")
    text = Path(path).read_text(encoding="utf-8")
    made = _added(text, item)
    if made is None or _rules(made) != [*known, rule]:
        raise BadInput(f"{path}: the rule cannot be added to a file of this form; add it by hand:\n{item}")
    write_whole(path, made.encode())
    return f"added to {path}: the rule {rule['name']}"


def _added(text: str, item: str) -> str | None:
    """The text with this item at the end of `spec.rules`; None if that list is not written in lines."""
    rules = _at(_at(yaml.compose(text, yaml.SafeLoader), "spec"), "rules")
    if not isinstance(rules, yaml.SequenceNode) or rules.flow_style or not rules.value:
        return None
    lines = text.splitlines()
    last = rules.value[-1]
    end = last.end_mark.line if last.end_mark.column == 0 or not _is_flow(last) else last.end_mark.line + 1
    while end > last.start_mark.line + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    indent = " " * rules.start_mark.column
    added = [f"{indent}{line}".rstrip() for line in item.splitlines()]
    return "\n".join([*lines[:end], *added, *lines[end:]]) + "\n"


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

"""Findings as SARIF 2.1.0, the format that code scanning reads."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hypot.lint.report import Finding, LintReport, Place
from hypot.lint.rule import Rule
from hypot.lint.rule_list import all_rules, rule_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


def sarif(report: LintReport, version: str) -> dict[str, Any]:
    """One run. It lists only the rules that have findings."""
    broken = {finding.rule for finding in report.findings}
    known = all_rules()
    used = [rule_of(rule_id) for rule_id in [*(i for i in known if i in broken), *sorted(broken - known.keys())]]
    places = {rule.id: i for i, rule in enumerate(used)}
    seen: Counter[tuple[str, ...]] = Counter()
    driver = {
        "name": "hypot",
        "semanticVersion": version,
        "rules": [_rule(rule) for rule in used],
    }
    results = [_result(finding, places[finding.rule], seen) for finding in report.findings]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(rule: Rule) -> dict[str, Any]:
    help_text = f"{rule.why}\n\nFix: {rule.fix}"
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": help_text, "markdown": f"{rule.why}\n\n**Fix:** {rule.fix}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["kubernetes", "autoscaling", rule.family.lower()]},
    }


def _result(finding: Finding, rule_index: int, seen: Counter[tuple[str, ...]]) -> dict[str, Any]:
    place = ", ".join(part for part in (finding.object, finding.field) if part)
    message = f"{f'{place}: ' if place else ''}{finding.message}\nFix: {finding.hint}"
    result = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [_location(finding)],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(finding, seen)},
    }
    if finding.related:
        places = [{"id": i, **_location(one), "message": {"text": one.object}} for i, one in enumerate(finding.related)]
        result["relatedLocations"] = places
    return result


def _location(found: Finding | Place) -> dict[str, Any]:
    """Where it is: in a file, or in an object that came from no file."""
    if not found.file:
        return {"logicalLocations": [{"fullyQualifiedName": found.object, "kind": "object"}]}
    region = {"startLine": max(1, found.line or 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(found.file)}, "region": region}}


def _uri(file: str) -> str:
    """Relative to the working directory if possible: that is how code scanning finds the file."""
    if file == "<stdin>":
        return "stdin"
    path = Path(file)
    if path.is_absolute():
        here = Path.cwd()
        if not path.is_relative_to(here):
            return path.as_uri()
        path = path.relative_to(here)
    return quote(path.as_posix())


def _fingerprint(finding: Finding, seen: Counter[tuple[str, ...]]) -> str:
    """Identifies the same finding in the next run, even if its lines have moved."""
    what = (finding.rule, finding.file, finding.object, finding.field)
    seen[what] += 1
    return f"{hashlib.sha256(chr(0).join(what).encode()).hexdigest()[:16]}:{seen[what]}"

"""Known findings: a repository that begins with a baseline gets only the new ones reported."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from hypot.core.regex import regex
from hypot.lint.report import Finding, LintReport

# Where something else is: it moves without being another finding.
_PLACE: Final = regex(r"(?<=is also defined) in [^\n]+$|(?<=\bline) \d+|(?<=\bcolumn) \d+")


class KnownFinding(NamedTuple):
    """What identifies a finding, whatever its line."""

    file: str
    object: str
    rule: str
    message: str


# How often each finding is known: two fields of an object may have the same one.
Baseline = Counter[KnownFinding]


def baseline_of(report: LintReport, place: Callable[[str], str]) -> Baseline:
    """All findings of a report; `place` makes a file's name one that does not depend on the working directory."""
    return Counter(known(finding, place) for finding in report.findings)


def known(finding: Finding, place: Callable[[str], str]) -> KnownFinding:
    return KnownFinding(place(finding.file), finding.object, finding.rule, _PLACE.sub("", finding.message))


def without_known(report: LintReport, baseline: Baseline, place: Callable[[str], str]) -> tuple[LintReport, Baseline]:
    """The report without what is known, and what is known and no longer occurs."""
    left = Counter(baseline)
    new = []
    for finding in report.findings:
        entry = known(finding, place)
        if left[entry] > 0:
            left[entry] -= 1
        else:
            new.append(finding)
    return replace(report, findings=tuple(new), known=len(report.findings) - len(new)), +left

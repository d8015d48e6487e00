"""What a text is that holds no readable Kubernetes object: a template, a broken object, or something else."""

import pathlib
import re
from typing import Final, Literal

from hypot.core.regex import regex

# Broken: it cannot be parsed. Incomplete: it lacks what each object has. Template: for Helm or another tool to render.
# Patch: a part of an object, for kustomize. Other: no Kubernetes object. Unreadable: the file itself cannot be read.
Why = Literal["broken", "incomplete", "template", "patch", "other", "unreadable"]

RENDER: Final = "this is a template; render it first: `hypot lint --render CHART`"
_MARKS: Final = regex(r"\{\{|\{%|<%")
_KIND: Final = regex(r"""^[ \t]*(?:-[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]+)""", re.MULTILINE)


def kinds_named_in(text: str) -> frozenset[str]:
    """The kinds of the objects in a text that cannot be parsed, as far as one can tell."""
    return frozenset(_KIND.findall(text))


def has_marks(text: str) -> bool:
    """Whether it has the marks of a template. Alerts and dashboards have them too, as plain values."""
    return _MARKS.search(text) is not None


def chart_of(file: str) -> str | None:
    """The outermost Helm chart of which it is one of the templates."""
    folders = (folder.parent for folder in reversed(pathlib.PurePath(file).parents) if folder.name == "templates")
    chart = next((folder for folder in folders if _is_chart(folder)), None)
    while chart is not None and chart.parent.name == "charts" and _is_chart(chart.parent.parent):
        chart = chart.parent.parent
    return None if chart is None else str(chart)


def _is_chart(folder: pathlib.PurePath) -> bool:
    return pathlib.Path(folder, "Chart.yaml").is_file()


def is_in_chart(file: str) -> bool:
    """Whether it is one of the templates of a Helm chart."""
    return chart_of(file) is not None

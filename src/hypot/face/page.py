"""The frame of every page: a self-contained HTML file, light or dark as the browser prefers."""

import json
from collections.abc import Mapping
from html import escape
from string import Template
from typing import Any

from hypot.face.style import DARK, LIGHT, variables

CONFIG = {"displayModeBar": False, "responsive": True}
# The script of a page that has none of its own.
START = """draw();
dark.addEventListener("change", draw);"""
# Sorts the table called scores by a click on a heading.
SORTING = """function sort(head) {
  const table = head.closest("table"), place = [...head.parentNode.children].indexOf(head);
  const rising = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising > 0 ? "ascending" : "descending");
  const value = row => row.children[place].dataset.value ?? row.children[place].textContent;
  const order = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    return rising * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
}
for (const head of document.querySelectorAll("#scores th")) {
  head.addEventListener("click", () => sort(head));
  head.addEventListener("keydown", event => { if (event.key === "Enter") sort(head); });
}
"""

_FRAME = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<title>$title</title>
<style>
:root { color-scheme: light dark; $light }
@media (prefers-color-scheme: dark) {
  :root { $dark }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 1280px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: .2rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; } h4 { font-size: .95rem; margin: 0; }
p { margin: .2rem 0 .6rem; color: var(--faint); max-width: 75ch; }
.charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1.2rem; }
@media (max-width: 760px) { .charts { grid-template-columns: minmax(0, 1fr); } }
.charts p { margin: 0 0 .2rem; font-size: .85rem; }
.chart { height: 320px; }
.wide { overflow: auto; max-height: 32rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; } td.note { text-align: left; color: var(--faint); }
th[colspan] { text-align: center; } .group, .first { border-left: 1px solid var(--line); }
$style</style>
</head>
<body>
$body
<script>$plotly</script>
<script>
const charts = $charts;
const config = $config;
const dark = matchMedia("(prefers-color-scheme: dark)");
const finger = matchMedia("(pointer: coarse)").matches;  // on touch screens dragging scrolls
function tone(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
function dressed(layout) {
  const [ink, line, paper] = ["ink", "line", "paper"].map(tone);
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line };
  const axes = Object.keys(layout).filter(key => /^[xy]axis/.test(key)).map(key => [key, { ...layout[key], ...axis }]);
  return {
    ...layout, ...Object.fromEntries(axes), dragmode: finger ? false : "zoom", font: { ...layout.font, color: ink },
    annotations: (layout.annotations ?? []).map(note => ({ ...note, bgcolor: note.bgcolor && paper })),
    hoverlabel: { align: "left", bgcolor: paper, bordercolor: line, font: { color: ink } },
  };
}
function painted(trace) {
  const tint = trace.meta && trace.meta.tint && tone(trace.meta.tint);
  if (!tint) return trace;
  const made = { ...trace, line: { ...trace.line, color: tint }, marker: { ...trace.marker, color: tint } };
  if (trace.fill) made.fillcolor = tint + trace.meta.veil;
  return made;
}
function draw() {
  for (const [id, chart] of Object.entries(charts))
    Plotly.react(id, chart.data.map(painted), dressed(chart.layout), config);
}
$script
</script>
</body>
</html>
""")


def framed(
    title: str, body: str, charts: Mapping[str, Any], *, style: str = "", script: str = START, config: Any = None
) -> str:
    """The whole page; `charts` are plotly charts by the id of their element."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # noqa: PLC0415  4 MB, only for drawing

    return _FRAME.substitute(
        title=escape(title),
        light=variables(LIGHT),
        dark=variables(DARK),
        style=style,
        body=body,
        plotly=get_plotlyjs().strip(),
        charts=for_script(charts),
        config=for_script(CONFIG if config is None else config),
        script=script,
    )


def for_script(value: Any) -> str:
    """JSON that cannot end the script element that contains it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")

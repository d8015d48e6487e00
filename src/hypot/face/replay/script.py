"""The style and script of a replay page, in addition to the frame of every page."""

STYLE = """
h1 { font-size: 1.5rem; line-height: 1.3; max-width: 60ch; }
.what { font-size: .95rem; margin: 0; }
#policies { position: sticky; top: 0; z-index: 5; display: flex; flex-wrap: wrap; gap: .15rem 1rem;
  margin: .6rem -1rem 0; padding: .45rem 1rem; background: var(--paper);
  border-bottom: 1px solid var(--line); font-size: .9rem; }
#policies label { display: inline-flex; align-items: center; gap: .35rem; cursor: pointer; overflow-wrap: anywhere; }
#policies input { margin: 0; accent-color: var(--of); }
.key { display: inline-block; flex: none; width: 1.1rem; height: 0; border-top: 3px solid var(--of); }
.key.dash { border-top-style: dashed; } .key.dot { border-top-style: dotted; }
.key.area { height: .8rem; border: 0; background: var(--of); opacity: .35; }
.keys { display: flex; flex-wrap: wrap; gap: 0 1rem; }
.keys span { display: inline-flex; align-items: center; gap: .35rem; }
.figure { margin-top: 1.1rem; }
.figure p { max-width: 115ch; margin: 0 0 .1rem; font-size: .85rem; }
.time .chart { height: 230px; } #figure-supply { height: 320px !important; }
#scores th { cursor: pointer; vertical-align: bottom; } #scores th small { font-weight: 400; color: var(--faint); }
#scores tr > :first-child { text-align: left; position: sticky; left: 0; background: var(--paper); white-space: normal;
  min-width: 8.5rem; max-width: 22rem; overflow-wrap: anywhere; }
#scores .key { margin-right: .4rem; vertical-align: middle; }
#scores tr.reference td { color: var(--faint); }
#scores th[aria-sort=ascending] span::after { content: " ▲"; }
#scores th[aria-sort=descending] span::after { content: " ▼"; }
td.best { font-weight: 700; } td.best::after { content: "★"; font-size: .7em; vertical-align: .3em; margin-left: .1em; }
td:not(.best)::after { content: "★"; font-size: .7em; margin-left: .1em; visibility: hidden; }
td.note::after, td.name::after { content: none; }
.name { text-align: left; } td.note { white-space: normal; min-width: 14rem; }
.whole { max-height: none; }
#all-scores td.name { white-space: normal; min-width: 10rem; max-width: 26rem; line-height: 1.25; }
#all-scores small { color: var(--faint); }
#settings td { white-space: normal; overflow-wrap: anywhere; max-width: 26rem; }
tr.part th { text-align: left; padding-top: .8rem; border-bottom-color: var(--faint); }
details { margin: .8rem 0; } summary { cursor: pointer; font-weight: 600; }
.changed { font-weight: 700; }
ul { margin: .3rem 0; padding-left: 1.2rem; color: var(--faint); } li { overflow-wrap: anywhere; }
"""

# `start` is the start of the replay, and `unit` converts seconds into the unit of the time axis.
SCRIPT = """
for (const chart of Object.values(charts)) for (const trace of chart.data) {
  if (trace.hovertext) trace.hovertext = trace.hovertext.map(lines => lines.replaceAll("\\n", "<br>"));
  if (!trace.meta.at) continue;
  let at = start;
  trace.x = trace.meta.at.map(step => (at += step) * unit);
}
const all = document.getElementById("all");
const boxes = [...document.querySelectorAll("#policies input")].filter(box => box !== all);
function visible(trace) {
  return boxes.every(box => box.value !== trace.meta.who || box.checked);
}
function redraw() {
  for (const chart of Object.values(charts)) for (const trace of chart.data) trace.visible = visible(trace);
  draw();
}
function toggle(who, on) {
  for (const [id, chart] of Object.entries(charts)) {
    const theirs = chart.data.flatMap((trace, i) => trace.meta.who === who ? [i] : []);
    if (theirs.length) Plotly.restyle(id, { visible: on }, theirs);
  }
}
let following = false;
function follow(id, others) {
  document.getElementById(id).on("plotly_relayout", change => {
    const moved = Object.entries(change).filter(([key]) => key.startsWith("xaxis."));
    if (following || !moved.length) return;
    following = true;
    const done = others.map(other => Plotly.relayout(other, Object.fromEntries(moved)));
    Promise.all(done).finally(() => following = false);
  });
}
const policies = boxes.filter(box => box.value.startsWith("policy-"));
for (const box of boxes) box.addEventListener("change", () => {
  toggle(box.value, box.checked);
  if (all) all.checked = policies.every(one => one.checked);
});
all?.addEventListener("change", () => {
  for (const box of policies) box.checked = all.checked;
  redraw();
});
redraw();
const linked = Object.keys(charts).filter(id => charts[id].layout.meta === "time");
for (const id of linked) follow(id, linked.filter(other => other !== id));
dark.addEventListener("change", redraw);
"""

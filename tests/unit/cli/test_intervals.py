"""hypot intervals, from the command line to its exit status."""

import json
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
import yaml
from plotly.graph_objects import Figure

from hypot.lint.rule_list import all_rules
from unit.cli.command import hypot as run_hypot
from unit.cli.command import schema
from unit.policy.hvpa.hvpa_cases import INTERVALS, RELEASED, manifest, policy, seed, sized, vpa

EXAMPLE = str(Path(__file__).resolve().parents[3] / "examples" / "hvpa.yaml")
SCHEMA = schema("intervals")
hypot = partial(run_hypot, "intervals")
PNG = b"\x89PNG\r\n\x1a\n"


def called(name, data=None, namespace="shop"):
    data = data or manifest(INTERVALS)
    return {**data, "metadata": {"name": name, "namespace": namespace}}


def given(folder, *objects, name="hvpa.yaml"):
    path = folder / name
    path.write_text("---\n".join(yaml.safe_dump(one, sort_keys=False) for one in objects), encoding="utf-8")
    return path


BROKEN = called("broken", sized((2, "1", "1Gi"), (2, "1", "1Gi"), scalingIntervalsOverlap={"cpu": {"percentate": 30}}))
# One container and one resource: quick to draw.
SMALL = called("small", manifest(INTERVALS, vpa=vpa(policy("*", controlledResources=["cpu"]))))
WEIGHTS = called("weights", manifest(RELEASED))


class TestText:
    """Text for people."""

    def test_the_example(self):
        """The proposal's table; containers that no policy sizes are named, and there is no colour off a terminal."""
        result = hypot("-f", EXAMPLE)
        assert (result.status, result.err) == (0, "")
        lines = result.out.splitlines()
        assert lines[0] == "shoot--dev--web/kube-apiserver  Hvpa → Deployment/kube-apiserver"
        assert [" ".join(line.split()) for line in lines[6:11]] == [
            "1 0.5 0.5 0.125 0.125 2 2 0.5 0.5 down to minAllowed",
            "2 1 2 0.175 0.35 4 8 0.7 1.4",
            "3 2 6 0.467 1.4 8 24 1.867 5.6",
            "4 4 16 1.05 4.2 16 64 4.2 16.8",
            "5 8 40 2.24 11.2 32 160 8.96 44.8",
        ]
        assert "    any other container: not scaled, the mode is Off" in lines
        assert max(map(len, lines)) <= 110
        assert "\x1b" not in result.out

    def test_a_fixed_size(self):
        """There is no smaller size, and the row says why."""
        data = called("web", sized((2, "500m", None, "horizontalOnly")))
        out = hypot("-f", "-", text=yaml.safe_dump(data)).out
        assert "           2      0.5      1        -    0.5  size fixed\n" in out
        assert "    memory does not affect replicas, as not every interval sets a maximum for it\n" in out

    def test_several_containers(self):
        """Containers with equal intervals share a table, headed by their names."""
        data = called("web", manifest(INTERVALS, vpa=vpa(policy("a", {"cpu": "100m"}), policy("b"))))
        out = hypot("-f", "-", text=yaml.safe_dump(data)).out
        assert "\n    a\n" in out
        assert "\n    b, any other container\n" in out

    def test_names_cannot_steer_the_terminal(self):
        """A container name in a manifest may contain any character."""
        data = called("web", manifest(INTERVALS, vpa=vpa(policy("\x1b[31mred"))))
        assert "\x1b" not in hypot("-f", "-", text=yaml.safe_dump(data)).out


class TestMachines:
    """Output for programs."""

    def test_the_schema_is_a_schema(self):
        """The schema is valid, so that code can be generated from it."""
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_json(self):
        """Sizes are quantities, as in a manifest."""
        (hvpa,) = hypot("-f", EXAMPLE, "-o", "json").json["hvpas"]
        assert (hvpa["name"], hvpa["line"], hvpa["problems"]) == ("kube-apiserver", 3, [])
        app, others = hvpa["containers"]
        assert (app["names"], app["mode"]) == (["kube-apiserver"], "Auto")
        assert app["intervals"][2]["cpu"] == {
            "upTo": {"perPod": "2", "total": "6"},
            "downTo": {"perPod": "467m", "total": "1400m"},
            "fixed": None,
            "atMinAllowed": False,
        }
        assert app["intervals"][0]["memory"]["downTo"] == {"perPod": "512Mi", "total": "512Mi"}
        assert app["intervals"][0]["memory"]["atMinAllowed"] is True
        assert others == {"names": ["*"], "mode": "Off", "unsized": [], "intervals": []}

    def test_yaml_says_the_same(self):
        """YAML has the same content as JSON."""
        result = hypot("-f", EXAMPLE, "-o", "yaml")
        assert yaml.safe_load(result.out)["hvpas"] == hypot("-f", EXAMPLE, "-o", "json").json["hvpas"]

    def test_fixed_sizes(self, tmp_path):
        """The output has the fixed size and no smaller size per pod."""
        path = given(tmp_path, called("web", sized((2, "500m", "1Gi", "horizontalOnly"))))
        (hvpa,) = hypot("-f", path, "-o", "json").json["hvpas"]
        cpu = hvpa["containers"][0]["intervals"][1]["cpu"]
        assert (cpu["fixed"], cpu["downTo"]) == ("500m", {"perPod": None, "total": "500m"})

    def test_problems_are_in_the_output(self, tmp_path):
        """Invalid manifests are listed with their problems and without intervals, as these would be unreliable."""
        result = hypot("-f", given(tmp_path, BROKEN, WEIGHTS), "-o", "json")
        broken, weights = result.json["hvpas"]
        assert result.status == 1
        assert broken["containers"] == weights["containers"] == []
        assert {p["rule"] for p in broken["problems"]} == {"interval-replicas", "unknown-field"}
        assert [one["weightBased"] for one in (broken, weights)] == [False, True]


class TestInput:
    """What is read, and what is refused."""

    def test_an_error_without_a_hint_has_the_fix_of_its_rule(self, tmp_path):
        """As in `hypot lint`."""
        target = {"type": "Utilization", "averageUtilization": 0}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        hvpa = called("zero")
        hvpa["spec"]["hpa"] = {"deploy": True, "template": {"spec": {"maxReplicas": 2, "metrics": metrics}}}
        result = hypot("-f", given(tmp_path, hvpa))
        assert f"fix: {all_rules()['utilization'].fix}\n" in result.out

    def test_a_manifest_with_errors(self, tmp_path):
        """All errors have file and line, as in `hypot lint`; manifests without errors are still shown."""
        path = given(tmp_path, BROKEN, called("good"))
        result = hypot("-f", path)
        assert result.status == 1
        assert "shop/broken  Hvpa → Deployment/kube-apiserver\n    not shown: the manifest has errors\n" in result.out
        lines = path.read_text(encoding="utf-8").splitlines()
        second = [i for i, line in enumerate(lines, 1) if "maxReplicas: 2" in line][1]
        assert f"{path}:{second}  error  interval-replicas  Hvpa shop/broken" in result.out
        assert "fix: did you mean percentage?" in result.out
        assert "2 errors, 0 warnings, 0 advice in 1 file, 2 objects\n" in result.out
        assert "           5        8     40      3.2     16" in result.out

    def test_warnings_alone_are_fine(self, tmp_path):
        """A manifest of Gardener's API group is read, with a warning."""
        data = {**called("old"), "apiVersion": "autoscaling.gardener.cloud/v1alpha1"}
        result = hypot("-f", given(tmp_path, data))
        assert (result.status, "warning  old-api-version" in result.out) == (0, True)

    def test_a_weight_based_manifest(self, tmp_path):
        """It has no intervals, and the message refers to `hypot lint`."""
        result = hypot("-f", given(tmp_path, WEIGHTS))
        assert result.status == 1
        assert "weightBasedScalingIntervals has no effective intervals; hypot lint says why" in result.out

    def test_the_proposals_own_misspelling(self, tmp_path):
        """The message suggests the right key."""
        data = seed()
        data["spec"]["scalingIntervalsOverlap"]["memory"] = {"value": "1.5Gi", "percentate": 30}
        result = hypot("-f", given(tmp_path, data))
        assert (result.status, "did you mean percentage?" in result.out) == (1, True)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-n", "shop"], ["shop/a", "shop/b"]),
            (["--name", "a"], ["shop/a", "bank/a"]),
            (["-n", "bank", "--name", "a"], ["bank/a"]),
        ],
    )
    def test_some_of_several(self, tmp_path, arguments, message):
        """Hvpas are chosen by namespace and by name, in the order of the input."""
        path = given(tmp_path, called("a"), called("b"), called("a", namespace="bank"))
        found = hypot("-f", path, "-o", "json", *arguments).json["hvpas"]
        assert [f"{one['namespace']}/{one['name']}" for one in found] == message

    def test_several_files(self, tmp_path):
        """-f may be repeated, and takes folders too."""
        first, second = given(tmp_path, called("a"), name="a.yaml"), given(tmp_path, called("b"), name="b.yaml")
        assert hypot("-f", first, "-f", second).out == hypot("-f", tmp_path).out

    def test_the_same_twice(self, tmp_path):
        """The last object counts, as for kubectl apply."""
        path = given(tmp_path, called("a", BROKEN), called("a"))
        result = hypot("-f", path)
        assert result.status == 0
        assert result.err == f"shop/a is in the input twice, {path}:1 and {path}:24: the last one counts\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-f", "nowhere.yaml"], "nowhere.yaml: cannot read it: No such file or directory; check the path"),
            (["-f", "none.yaml"], "no Hvpa in the input: found only 1 ConfigMap"),
            (["-f", "empty.yaml"], "no Hvpa in the input: there is nothing in it"),
            (["-f", "one.yaml", "-n", "bank"], "no Hvpa in namespace bank; there are shop/a"),
            (["-f", "one.yaml", "-n", "shop", "--name", "b"], "no Hvpa named b in namespace shop; there are shop/a"),
            (["-f", "one.yaml", "--plot", "a.pdf"], "'a.pdf' is not a plot file"),
            (["-f", "one.yaml", "--plot", "nowhere/a.html"], "nowhere/a.html: cannot write the plot: No such file"),
            (["-f", "one.yaml", "--plot", "folder.png"], "folder.png: cannot write the plot: Is a directory"),
            (["-f", "two.yaml", "--plot", "a.svg"], "shop/a, shop/b; choose with --name NAME or -n NAMESPACE"),
            (["-f", "off.yaml", "--plot", "a.png"], "Hvpa shop/off: nothing to draw, because it sizes no container"),
            ([], "Missing option '-f'"),
        ],
    )
    def test_bad_usage(self, tmp_path, monkeypatch, arguments, message):
        """Exit status 2, one clear sentence, and nothing on standard output."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder.png").mkdir()
        given(tmp_path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, name="none.yaml")
        given(tmp_path, name="empty.yaml")
        given(tmp_path, called("a"), name="one.yaml")
        given(tmp_path, called("a"), called("b"), name="two.yaml")
        given(tmp_path, called("off", manifest(INTERVALS, vpa=vpa(policy("*", mode="Off")))), name="off.yaml")
        result = hypot(*arguments)
        assert (result.status, result.out) == (2, "")
        assert message in result.err


class Page(HTMLParser):
    """The references and ids of a page."""

    def __init__(self, text):
        super().__init__()
        self.references, self.ids = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.references += [(tag, *one) for one in attributes if one[0] in {"src", "href", "srcset", "data", "action"}]
        self.ids += [value for name, value in attributes if name == "id"]


def drawn(page):
    return json.loads(re.search(r"^const charts = (.*);$", page, re.MULTILINE).group(1))


class TestPlot:
    """Plots."""

    def test_a_page_of_its_own(self, tmp_path):
        """The page loads nothing from elsewhere, has every chart, and is always the same to the byte."""
        first, second = tmp_path / "a.html", tmp_path / "b.html"
        assert hypot("-f", EXAMPLE, "--plot", first).status == 0
        assert hypot("-f", EXAMPLE, "--plot", second).out == hypot("-f", EXAMPLE).out
        assert first.read_bytes() == second.read_bytes()
        page = first.read_text(encoding="utf-8")
        read = Page(page)
        assert read.references == []
        assert "default-src 'none'" in page
        keys = ("replicas", "size", "thresholds", "deviation")
        assert list(drawn(page)) == [f"hvpa-1-1-{resource}-{key}" for resource in ("cpu", "memory") for key in keys]
        assert [one for one in read.ids if one in drawn(page)] == list(drawn(page))

    def test_plotly_accepts_every_chart(self, tmp_path):
        """Plotly's own library takes each chart as valid."""
        path = tmp_path / "a.html"
        hypot("-f", EXAMPLE, "--plot", path)
        for chart in drawn(path.read_text(encoding="utf-8")).values():
            assert len(Figure(chart).data) in {2, 3, 4}

    def test_every_chart_has_a_legend(self, tmp_path):
        """And hovering shows all lines at one total; an excess also in percent."""
        path = tmp_path / "a.html"
        hypot("-f", EXAMPLE, "--plot", path)
        charts = drawn(path.read_text(encoding="utf-8"))
        layouts = [chart["layout"] for chart in charts.values()]
        assert {(layout["showlegend"], layout["hovermode"]) for layout in layouts} == {(True, "x unified")}
        excess = charts["hvpa-1-1-cpu-deviation"]["data"][1]
        assert excess["hovertemplate"] == "%{y:.4~g}%{hovertext}"
        assert excess["hovertext"][excess["x"].index(0.501)] == " (+100 %)"

    def test_the_table_is_on_the_page(self, tmp_path):
        """The page has the figures that the charts show."""
        path = tmp_path / "a.html"
        hypot("-f", EXAMPLE, "--plot", path)
        page = path.read_text(encoding="utf-8")
        for text in ("<td>1.867</td>", "down to minAllowed", "not scaled, the mode is Off"):
            assert text in page

    def test_each_of_several_has_its_section(self, tmp_path):
        """Sections are in the order of the input."""
        path = tmp_path / "a.html"
        assert hypot("-f", given(tmp_path, called("a"), called("b")), "--plot", path).status == 0
        page = path.read_text(encoding="utf-8")
        assert {"hvpa-1", "hvpa-2"} < set(Page(page).ids)
        assert page.index("<h2>shop/a</h2>") < page.index("<h2>shop/b</h2>")

    def test_names_are_not_markup(self, tmp_path):
        """Names are escaped in the page and in the script that draws it."""
        path = tmp_path / "a.html"
        data = called("web", manifest(INTERVALS, vpa=vpa(policy("</script><script>alert(1)"))))
        assert hypot("-f", given(tmp_path, data), "--plot", path).status == 0
        assert "<script>alert" not in path.read_text(encoding="utf-8")

    @pytest.mark.parametrize(("name", "begins"), [("a.png", PNG), ("a.svg", b"<?xml")])
    def test_pictures(self, tmp_path, name, begins):
        """The same input gives the same bytes."""
        path, results = tmp_path / name, []
        for _ in range(2):
            assert hypot("-f", given(tmp_path, SMALL), "--plot", path).status == 0
            results.append(path.read_bytes())
        assert results[0] == results[1]
        assert results[0].startswith(begins)

    def test_names_are_not_formulas(self, tmp_path):
        """Text between dollar signs stays text."""
        data = called("web", manifest(INTERVALS, vpa=vpa(policy(r"a$\frac$b"), policy(mode="Off"))))
        assert hypot("-f", given(tmp_path, data), "--plot", tmp_path / "a.svg").status == 0

    def test_a_picture_of_one_of_several(self, tmp_path):
        """The Hvpa is chosen by name; the case of the file extension does not matter."""
        path = given(tmp_path, called("a"), SMALL)
        assert hypot("-f", path, "--name", "small", "--plot", tmp_path / "B.PNG").status == 0
        assert (tmp_path / "B.PNG").read_bytes().startswith(PNG)

    def test_without_matplotlib(self, tmp_path, monkeypatch):
        """The error says what to install; pages do not need it."""
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        for name in ("hypot.face.intervals.picture", "hypot.face.matplotlib_chart"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        result = hypot("-f", EXAMPLE, "--plot", tmp_path / "a.png")
        assert result.status == 2
        assert "this needs matplotlib, which is not installed: pip install" in result.err
        assert hypot("-f", EXAMPLE, "--plot", tmp_path / "a.html").status == 0

    def test_invalid_intervals_are_not_drawn(self, tmp_path):
        """The plot is not written, and a message says why."""
        path = tmp_path / "a.html"
        result = hypot("-f", given(tmp_path, BROKEN, called("good")), "--plot", path)
        assert (result.status, path.exists()) == (1, False)
        assert result.err == f"{path}: not drawn, because not every Hvpa has valid intervals\n"


@pytest.mark.parametrize(("more", "loaded"), [([], ""), (["--plot", "a.html"], "plotly")])
def test_plot_libraries_are_loaded_only_for_plots(tmp_path, more, loaded):
    """A table loads neither numpy nor plotly nor matplotlib, and a page no matplotlib."""
    code = (
        "import sys; from hypot.cli.main import main\n"
        "try: main(['intervals', '-f', *sys.argv[1:]])\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "print(*[name for name in ('numpy', 'plotly', 'matplotlib') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, EXAMPLE, *more]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1].split() == loaded.split()

"""The page about all workloads of a cluster."""

import re

from hypot.face.recommend.page import page
from hypot.face.recommend.value import RecommendReport, by_namespace, risks, to_begin_with, totals
from recommended import cluster, made_up


def rows(html, table):
    body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', html, re.DOTALL)[1]
    return [re.findall(r"<td[^>]*>(?:<span[^>]*></span>)?(.*?)</td>", row) for row in body.strip().split("\n")]


def test_namespaces_add_up():
    """What is kept saves nothing; unused cores cost what cores cost."""
    some = [made_up("a", 100.0, 20.0), made_up("b", 50.0, 0.0), made_up("c", 10.0, 5.0, namespace="")]
    shop, rest = by_namespace(some)
    assert (shop.name, shop.workloads, shop.today, shop.saving, shop.idle) == ("shop", 2, 150.0, 20.0, 4.0)
    assert shop.wasted == 4.0 * 0.04048 * 720
    assert (rest.name, rest.saving) == ("no namespace", 5.0)
    assert totals("", some).share == 25.0 / 160.0


def test_the_sure_and_large_ones_come_first():
    """A low confidence comes last, also if its saving is large; what is kept is none of them."""
    some = [made_up("small", saves=1.0), made_up("unsure", saves=50.0, confidence="low"), made_up("kept")]
    assert [one.workload for one in to_begin_with([*some, made_up("large", saves=9.0)])] == ["large", "small", "unsure"]
    assert len(to_begin_with([made_up(f"w{i}", saves=1.0) for i in range(20)])) == 10


def test_only_risks_that_there_are():
    """Each with its workloads."""
    late = made_up("late", late=3.0)
    found = list(risks(RecommendReport([late, made_up("fine", saves=1.0)])))
    assert [(one.what, one.workloads) for one in found] == [
        ("More requests are late or lost today than the SLO allows", ("late",))
    ]


def test_the_page_has_every_workload():
    """In the order of savings, as text that a file cannot break."""
    bad = made_up('<b onclick="x">', saves=999.0)
    html = page(RecommendReport([*cluster(), bad], [("old", "too <short>")]))
    assert "<b onclick" not in html
    assert "too &lt;short&gt;" in html
    assert len(rows(html, "scores")) == 15
    assert len(rows(html, "begin")) == 10
    assert rows(html, "scores")[0][0] == "&lt;b onclick=&quot;x&quot;&gt;"
    assert rows(html, "scores")[-1][5] == "keep today"
    assert {row[0] for row in rows(html, "namespaces")} == {"shop", "pay", "media"}


def test_one_workload_without_a_saving():
    """Has a page, too, and the same page each time."""
    report = RecommendReport([made_up("web")])
    assert page(report) == page(report)
    assert "$0.00 a month (0 %) can be saved" in page(report)

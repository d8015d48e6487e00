"""hypot convert: notes as comments, JSON, and refusals."""

from functools import partial

import yaml

from hypot import HPA, VPA, cpu, external, to_yaml
from unit.cli.command import hypot as run_hypot

hypot = partial(run_hypot, "convert")
WEB = HPA("deployment/web", min_replicas=2, max_replicas=10, metrics=[external("jobs", average=30)], namespace="shop")
SIZES = VPA("deployment/web")


def test_notes_are_comments_above_the_manifest():
    """The text is YAML; the first line says what was converted."""
    result = hypot("-", "--to", "wpa", text=to_yaml(WEB, WEB))
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("# From HorizontalPodAutoscaler shop/web, <stdin>:1\n# assumed: ")
    assert "# check: delete HorizontalPodAutoscaler web before you apply this" in result.out
    assert [one["kind"] for one in yaml.safe_load_all(result.out)] == ["WatermarkPodAutoscaler"] * 2


def test_json_has_the_notes_as_values():
    """By its schema."""
    one = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70, container="app")])
    (found,) = hypot("-", "--to", "tortoise", "-o", "json", text=to_yaml(one)).json["converted"]
    assert found["source"]["name"] == "web"
    assert {note["what"] for note in found["notes"]} == {"assumed", "check", "lost"}
    assert found["objects"][0]["kind"] == "Tortoise"


def test_nothing_is_printed_if_one_cannot_be_converted():
    """All reasons come at once, with file and line."""
    result = hypot("-", "--to", "hpa", text=to_yaml(WEB, SIZES, SIZES))
    assert (result.status, result.out) == (2, "")
    assert result.err.count("cannot be converted to hpa: a VPA sizes pods") == 2


def test_wrong_input_is_refused():
    """Without an autoscaler, without a kind, and without a file."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert "there is no autoscaler in the input" in hypot("-", "--to", "hpa", text=to_yaml(pod)).err
    assert hypot("-", text=to_yaml(WEB)).status == 2
    assert hypot("no-such-file", "--to", "hpa").status == 2

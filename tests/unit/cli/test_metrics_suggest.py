"""hypot metrics suggest: weights as YAML from a page of metrics, and what is wrong with the page."""

import contextlib
import socket
import time
from threading import Thread

import pytest
import yaml
from click.testing import CliRunner

from hypot.cli.files import BadInput
from hypot.cli.metrics import suggest
from hypot.cli.metrics.command import command
from hypot.kinds.metric_rules import GARDENER
from hypot.kinds.metric_rules.read import rules_of

PAGE = """\
hypot_metrics_leader 1
hypot_metrics_cost_observations{rule="web"} 84.2
hypot_metrics_cost_explained_ratio{rule="web"} 0.97
hypot_metrics_request_cost_shared{rule="web",class="verb=GET,!scope"} 0
hypot_metrics_request_cost_shared{rule="web",class="verb=LIST,scope=cluster"} 1
hypot_metrics_request_cost_shared{rule="web",class="verb=PATCH,!scope"} 0
hypot_metrics_request_cost_shared{rule="web",class="other"} 0
hypot_metrics_request_cost_cpu_seconds{rule="web",class="verb=GET,!scope"} 0.002
hypot_metrics_request_cost_cpu_seconds{rule="web",class="verb=LIST,scope=cluster"} 0.02
hypot_metrics_request_cost_cpu_seconds{rule="web",class="other"} 0.001
hypot_metrics_request_cost_error_cpu_seconds{rule="web",class="verb=LIST,scope=cluster"} 0.0004
hypot_metrics_request_weight{rule="web",class="verb=GET,!scope"} 0.512
hypot_metrics_request_weight{rule="web",class="verb=LIST,scope=cluster"} 5.12
hypot_metrics_request_weight{rule="web",class="other"} 0.25
"""


@pytest.fixture
def asked(tmp_path):
    file = tmp_path / "page"

    def ask(text, *arguments):
        file.write_text(text)
        done = CliRunner().invoke(command, ["suggest", "--from", str(file), *arguments], standalone_mode=False)
        assert done.exception is None or isinstance(done.exception, BadInput), done.exception
        return done.output, done.return_value, done.exception and str(done.exception)

    return ask


def test_weights_can_be_pasted_into_rules(asked):
    """The most expensive first; the metrics server accepts them."""
    output, status, _ = asked(PAGE)
    assert status == 0
    weights = yaml.safe_load(output)["weights"]
    assert weights == [
        {"where": {"matchLabels": {"verb": "LIST", "scope": "cluster"}}, "weight": 5.12},
        {
            "where": {
                "matchLabels": {"verb": "GET"},
                "matchExpressions": [{"key": "scope", "operator": "DoesNotExist"}],
            },
            "weight": 0.51,
        },
    ]
    (rule,) = GARDENER["spec"]["rules"]
    data = {**GARDENER, "spec": {"rules": [{**rule, "metrics": [{**rule["metrics"][0], "weights": weights}]}]}}
    assert len(rules_of(data).rules[0].metrics[0].weights) == 2


def test_reasons_are_comments(asked):
    output, _, _ = asked(PAGE)
    assert "84 observations explain 97% of the variance of cpu" in output
    assert "# 20 ± 0.4 ms of cpu, one cost for classes that always move together" in output
    assert "# Not known yet, so they count 1: verb=PATCH,!scope" in output
    assert "# other: " in output


def test_costs_that_explain_little(asked):
    assert "do not rely on these weights" in asked(PAGE.replace("0.97", "0.2"))[0]


def test_nothing_is_known_yet(asked):
    """Exit status 1, and no YAML that somebody would paste."""
    output, status, _ = asked("\n".join(line for line in PAGE.splitlines() if "_weight" not in line))
    assert status == 1
    assert "No cost is known yet" in output
    assert yaml.safe_load(output) is None


def test_one_of_several_rules(asked):
    both = PAGE + PAGE.replace('"web"', '"api"')
    assert asked(both)[0].count("weights:") == 2
    assert asked(both, "--rule", "api")[0].count("weights:") == 1
    assert "the rule bank learns no costs; these do: web, api" in asked(both, "--rule", "bank")[2]


@pytest.mark.parametrize("text", ["", "hypot_metrics_leader 0\n"])
def test_a_server_that_learns_nothing(asked, text):
    assert "write learnCost into a rule, and ask the leader" in asked(text)[2]


@pytest.mark.parametrize("source", ["no-such-file", "http://127.0.0.1:9/metrics", "http://[", "/"])
def test_a_page_that_cannot_be_read(source):
    done = CliRunner().invoke(command, ["suggest", "--from", source], standalone_mode=False)
    assert isinstance(done.exception, BadInput)
    assert f"{source}: cannot be read" in str(done.exception)


def test_a_page_that_is_none(asked):
    assert "is not a number" in asked('hypot_metrics_cost_observations{rule="web"} many\n')[2]


def test_options_of_the_server_do_not_apply():
    done = CliRunner().invoke(command, ["--warm", "suggest", "--from", "x"])
    assert "options of suggest belong after it" in done.output


def test_small_weights_stay(asked):
    """A weight of 0 would mean that such requests cost nothing."""
    page = PAGE.replace("} 0.512", "} 0.0025").replace("} 5.12", "} 0.09876")
    output, _, _ = asked(page)
    assert [one["weight"] for one in yaml.safe_load(output)["weights"]] == [0.099, 0.0025]


def test_any_text_of_a_label(asked):
    """Its class is in quotes, and the weight selects it."""
    page = PAGE.replace("verb=GET,!scope", r"verb=\"GET /x, \\u0001\",!scope")
    output, _, _ = asked(page)
    assert yaml.safe_load(output)["weights"][1]["where"]["matchLabels"] == {"verb": "GET /x, \x01"}


def test_a_server_that_never_ends(monkeypatch):
    """The time is for the whole page."""
    monkeypatch.setattr(suggest, "_WITHIN", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/metrics"
        Thread(target=dripping, args=(listening,), daemon=True).start()
        done = CliRunner().invoke(command, ["suggest", "--from", url], standalone_mode=False)
    assert "no complete answer within 0.5 s" in str(done.exception)


def dripping(listening):
    connection, _ = listening.accept()
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    with connection, contextlib.suppress(OSError):
        while True:
            connection.sendall(b"#")
            time.sleep(0.05)

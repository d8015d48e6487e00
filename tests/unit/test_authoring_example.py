"""The example project of docs/authoring.md: ten services, and an autoscaler for each."""

import runpy
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest

from hypot import HPA, InvalidAutoscaler, check, cpu, from_yaml

SHOP = Path(__file__).resolve().parents[2] / "examples" / "authoring" / "shop.py"


@pytest.fixture(scope="module")
def shop():
    return runpy.run_path(str(SHOP))


def test_each_of_ten_services_has_an_autoscaler_of_one_of_three_kinds(shop):
    """Workloads and autoscalers have the same names, and the file stays short."""
    assert [one.name for one in shop["AUTOSCALERS"]] == list(shop["WORKLOADS"])
    assert Counter(one.KIND for one in shop["AUTOSCALERS"]) == {
        "HorizontalPodAutoscaler": 6,
        "VerticalPodAutoscaler": 3,
        "Hvpa": 1,
    }
    assert len(SHOP.read_text(encoding="utf-8").splitlines()) <= 60


def test_it_prints_them_as_yaml(shop, capsys):
    """What is printed is read back as the same objects, without a problem."""
    runpy.run_path(str(SHOP), run_name="__main__")
    found = from_yaml(capsys.readouterr().out)
    assert list(found) == shop["AUTOSCALERS"]
    assert found.problems == ()
    assert found.others == ()


def test_nothing_is_wrong_with_it(shop):
    """No error, no warning, no advice: users copy it."""
    assert check(*shop["AUTOSCALERS"], *shop["WORKLOADS"].values()).findings == ()


def test_a_request_that_is_missing_is_found_where_the_autoscaler_is_written(shop):
    """Workloads are given whole, so that their requests and containers are known."""
    workload = deepcopy(shop["WORKLOADS"]["catalog"])
    del workload["spec"]["template"]["spec"]["containers"][0]["resources"]
    with pytest.raises(InvalidAutoscaler, match="container app of Deployment/catalog has no cpu request"):
        HPA(workload, max_replicas=30, metrics=cpu(utilization=70, container="app"))

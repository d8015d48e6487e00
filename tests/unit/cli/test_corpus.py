"""Charts, kustomizations and a repository in the shapes that people have: what is found in them; nothing stops it."""

import os
import subprocess
from pathlib import Path

import pytest

from tools import tool
from unit.cli.command import hypot

CORPUS = Path(__file__).parents[2] / "fixtures" / "corpus"

# Folder -> exit status, findings, and what is said about the rest.
PLAIN = {
    "kustomize": (
        0,
        ["pdb-blocks-evictions PodDisruptionBudget/orders kustomize/overlays/production/pdb.yaml:6"],
        [
            "not read: 2 files without Kubernetes objects, 2 kustomize patches; -v lists them",
            "to check the result of templates and patches: `hypot lint --render kustomize/overlays/production`",
        ],
    ),
    "monorepo": (
        1,
        [
            "unreadable / monorepo/apps/legacy/broken.yaml:7",
            "single-metric-version HorizontalPodAutoscaler/legacy monorepo/apps/legacy/hpa.yaml:1",
            "min-over-max HorizontalPodAutoscaler/legacy monorepo/apps/legacy/hpa.yaml:7",
            "target-not-given HorizontalPodAutoscaler/legacy monorepo/apps/legacy/hpa.yaml:11",
            "placeholder HorizontalPodAutoscaler/web monorepo/apps/web/k8s/all.yaml:21",
        ],
        ["not read: 12 files without Kubernetes objects; -v lists them"],
    ),
    "shop-chart": (
        0,
        [],
        [
            "not read: 4 files without Kubernetes objects, 4 templates; -v lists them",
            "to check the result of templates and patches: `hypot lint --render shop-chart`",
        ],
    ),
    "vpa-chart": (
        0,
        [],
        [
            "not read: 2 files without Kubernetes objects, 3 templates; -v lists them",
            "to check the result of templates and patches: `hypot lint --render vpa-chart`",
        ],
    ),
    "web-chart": (
        0,
        [],
        [
            "not read: 3 files without Kubernetes objects, 4 templates; -v lists them",
            "to check the result of templates and patches: `hypot lint --render web-chart`",
        ],
    ),
    "worker-chart": (
        0,
        [],
        [
            "not read: 3 files without Kubernetes objects, 3 templates; -v lists them",
            "to check the result of templates and patches: `hypot lint --render worker-chart`",
        ],
    ),
}

# What is rendered, and its values -> exit status, findings, and what decide does with the result.
SHOP = [
    "target-missing HorizontalPodAutoscaler/release-name-cache shop-chart/charts/cache/templates/all.yaml",
    "memory-alone HorizontalPodAutoscaler/release-name-cache shop-chart/charts/cache/templates/all.yaml",
    "min-equals-max HorizontalPodAutoscaler/release-name-checkout shop-chart/templates/autoscalers.yaml",
    "replicas-on-target Deployment/release-name-api shop-chart/templates/components.yaml",
    "replicas-on-target Deployment/release-name-checkout shop-chart/templates/components.yaml",
    "pdb-blocks-evictions PodDisruptionBudget/release-name-api shop-chart/templates/pdb.yaml",
    "pdb-blocks-evictions PodDisruptionBudget/release-name-checkout shop-chart/templates/pdb.yaml",
]
VPA = [
    "vpa-conflict HorizontalPodAutoscaler/release-name-ledger vpa-chart/templates/hpa.yaml",
    "replicas-on-target StatefulSet/release-name-ledger vpa-chart/templates/statefulset.yaml",
    "auto-mode VerticalPodAutoscaler/release-name-ledger vpa-chart/templates/vpa.yaml",
    "policy-container-missing VerticalPodAutoscaler/release-name-ledger vpa-chart/templates/vpa.yaml",
]
RENDERED = [
    ("web-chart", [], 0, [], []),
    (
        "web-chart",
        ["web-chart/ci/production-values.yaml"],
        1,
        ["request-missing HorizontalPodAutoscaler/release-name-storefront web-chart/templates/hpa.yaml"],
        ["HPA/release-name-storefront up"],
    ),
    (
        "shop-chart",
        [],
        0,
        SHOP,
        [
            "HPA/release-name-cache undecided",
            "HPA/release-name-api undecided",
            "HPA/release-name-checkout undecided",
        ],
    ),
    ("worker-chart", [], 0, [], []),
    (
        "worker-chart",
        ["worker-chart/both.yaml"],
        1,
        [
            "two-autoscalers HorizontalPodAutoscaler/release-name-worker-cpu worker-chart/templates/hpa.yaml",
            "two-autoscalers ScaledObject/release-name-worker worker-chart/templates/scaledobject.yaml",
        ],
        ["HPA/release-name-worker-cpu up"],
    ),
    ("vpa-chart", [], 1, VPA, ["HPA/release-name-ledger undecided"]),
    ("kustomize/base", [], 0, [], ["HPA/orders up"]),
    (
        "kustomize/overlays/staging",
        [],
        0,
        ["single-replica HorizontalPodAutoscaler/staging-orders kustomize/base/hpa.yaml"],
        ["HPA/staging-orders undecided"],
    ),
    (
        "kustomize/overlays/production",
        [],
        0,
        [
            "slow-scale-up HorizontalPodAutoscaler/orders kustomize/base/hpa.yaml",
            "pdb-blocks-evictions PodDisruptionBudget/orders kustomize/overlays/production/pdb.yaml",
        ],
        ["HPA/orders up"],
    ),
]


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """The folder of the corpus is the working directory."""
    monkeypatch.chdir(CORPUS)


def found(result):
    return [
        f"{one['rule']} {one['object']['kind']}/{one['object']['name']} {one['file']}"
        + ("" if one["rendered"] else f":{one['line']}")
        for one in result.json["findings"]
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_lint_reads_every_folder(name):
    """As people call it first: on the folder as it is."""
    result = hypot("lint", name, "-o", "json")
    assert (result.status, found(result), result.err.splitlines()) == PLAIN[name]


def test_lint_reads_all_of_them_together():
    """Nothing of one stops another, and what is in other folders does not change what is found."""
    result = hypot("lint", ".", "-o", "json")
    alone = sorted(one for _, findings, _ in PLAIN.values() for one in findings)
    assert (result.status, sorted(found(result))) == (1, alone)


@pytest.mark.parametrize("name", PLAIN)
def test_decide_reads_every_folder(name):
    """Charts hold nothing to decide before they are rendered; 1 says so."""
    result = hypot("decide", "-f", name)
    assert result.status in {0, 1}
    assert result.err.startswith("not read: ")
    assert (name in {"kustomize", "monorepo"}) == ("nothing to decide" not in result.err)


@pytest.fixture
def tools(monkeypatch):
    """Helm and kustomize are on the PATH."""
    folders = [os.path.dirname(tool(name)) for name in ("helm", "kustomize")]  # noqa: PTH120
    monkeypatch.setenv("PATH", ":".join([*folders, os.environ["PATH"]]))


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(("name", "values", "status", "findings", "decided"), RENDERED)
def test_lint_checks_what_they_render_to(name, values, status, findings, decided):
    """Each finding is in the template or the file of the base, and decide takes the same text."""
    flags = [f"--values={file}" for file in values]
    result = hypot("lint", "--render", name, *flags, "-o", "json")
    assert (result.status, found(result), result.err) == (status, findings, "")
    command = ["kustomize", "build"] if name.startswith("kustomize") else ["helm", "template", *flags]
    text = subprocess.run([*command, name], capture_output=True, check=True, text=True).stdout
    answer = hypot("decide", "-f", "-", "-o", "json", text=text)
    assert answer.status in {0, 1}
    made = answer.json["decisions"] if answer.out else []
    kinds = {"HorizontalPodAutoscaler": "HPA", "VerticalPodAutoscaler": "VPA"}
    assert [
        f"{kinds[one['autoscaler']['kind']]}/{one['autoscaler']['name']} {one['verdict']}" for one in made
    ] == decided

"""Writes the generated files under deploy/ and docs/install.md; `--check` only reports outdated files."""  # noqa: INP001

import sys
from importlib.metadata import version
from pathlib import Path

import yaml
from chart import chart_files
from metrics_chart import kustomize_base
from templating import NOT_EDITED

from hypot.kinds.catalogue import crd_of, defined
from hypot.kinds.text.write import documents, to_yaml
from hypot.run.config import RunConfig
from hypot.run.install.manifests import manifests
from hypot.run.rights import Right, all_rights

ROOT = Path(__file__).resolve().parent.parent
TABLE, END = "<!-- generated: rights -->\n", "<!-- end -->"
SCOPES = {"cluster": "everywhere", "own-namespace": "hypot's namespace", "watched": "watched namespaces"}


def definitions() -> dict[str, str]:
    """The CustomResourceDefinitions, one file each."""
    made = {f"{info.name.lower()}.yaml": NOT_EDITED + to_yaml(crd_of(info.kind)) for info in defined()}
    return dict(sorted(made.items()))


def base() -> str:
    """The default output of `hypot manifests`."""
    return NOT_EDITED + documents(*manifests(RunConfig(), f"hypot:{version('hypot')}"))


def kustomization(*resources: str, images: bool = False) -> str:
    listed: dict[str, object] = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    listed["resources"] = list(resources)
    if images:
        listed["images"] = [{"name": "hypot", "newName": "hypot", "newTag": version("hypot")}]
    return NOT_EDITED + to_yaml(listed)


def rights_table() -> str:
    """The rights of hypot as a Markdown table."""
    lines = ["| resource | verbs | where | purpose | features |", "| --- | --- | --- | --- | --- |"]
    lines += [_row(right) for right in all_rights()]
    return "\n".join(lines)


def _row(right: Right) -> str:
    resource, slash, part = right.resource.partition("/")
    shown = f"{resource}.{right.group}{slash}{part}" if right.group else right.resource
    named = f" (only {_names(right.names)})" if right.names else ""
    where, needed = SCOPES[right.scope], ", ".join(right.features)
    return f"| `{shown}`{named} | {', '.join(right.verbs)} | {where} | {right.why} | {needed} |"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) if len(names) < 5 else f"`{names[0]}` to `{names[-1]}`"


def install_page() -> str:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(TABLE)
    return f"{before}{TABLE}{rights_table()}\n{END}{rest.partition(END)[2]}"


def alerts(name: str) -> str:
    """The alert rules as a plain file of the chart, so that Helm does not read them as a template."""
    written = yaml.safe_load((ROOT / "deploy" / name).read_text(encoding="utf-8"))
    return NOT_EDITED + to_yaml(written["spec"])


def pages() -> dict[str, str]:
    """Every generated file, by its path."""
    chart = "deploy/helm/hypot"
    made = {
        "deploy/kustomize/hypot.yaml": base(),
        "deploy/kustomize/kustomization.yaml": kustomization("hypot.yaml", images=True),
        "deploy/kustomize/crds/kustomization.yaml": kustomization(*definitions()),
        "docs/install.md": install_page(),
        "deploy/kustomize/metrics/hypot-metrics.yaml": kustomize_base(),
        "deploy/kustomize/metrics/kustomization.yaml": kustomization("hypot-metrics.yaml", images=True),
        f"{chart}/files/alerts.yaml": alerts("prometheusrule.yaml"),
        f"{chart}/files/metrics-alerts.yaml": alerts("metrics-prometheusrule.yaml"),
    }
    for name, text in definitions().items():
        made[f"deploy/kustomize/crds/{name}"] = made[f"{chart}/crds/{name}"] = text
    return {**made, **{f"{chart}/{name}": text for name, text in chart_files().items()}}


def stale() -> list[str]:
    """The files that are outdated."""
    return [name for name, text in pages().items() if not _same(ROOT / name, text)]


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main() -> int:
    if "--check" in sys.argv[1:]:
        found = stale()
        for name in found:
            sys.stderr.write(f"{name} is outdated; run deploy/generate.py\n")
        return 1 if found else 0
    for name, text in pages().items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

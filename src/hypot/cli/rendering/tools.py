"""Renders a chart with helm, and a kustomization with kustomize or kubectl, without a network."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from hypot.cli.files import BadInput
from hypot.cli.rendering.process import ToolLimits, ToolResult, run_tool
from hypot.face.style import printable
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.text.kustomize import KUSTOMIZATIONS
from hypot.kinds.values.version import Version, show_version

CHART: Final = "Chart.yaml"
_HELM: Final = "https://helm.sh/docs/intro/install/"
_KUSTOMIZE: Final = "https://kubectl.docs.kubernetes.io/installation/kustomize/"
# Nothing listens there, so what asks a network fails at once.
_NOWHERE: Final = "http://127.0.0.1:9"
_NO_NETWORK: Final = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), _NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
    # git may copy from folders only.
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_TERMINAL_PROMPT": "0",
    # No cluster is asked.
    "KUBECONFIG": os.devnull,
}
# How tools say that they would need a network.
_REMOTE: Final = ("proxyconnect", "127.0.0.1:9", "' not allowed", "no 'git' program")
# How kustomize says that a file is not in the folder of the kustomization.
_OUTSIDE: Final = "security; file"
# Charts ask for kinds that a cluster may not have; those that can be checked are rendered.
_MORE_APIS: Final = ("keda.sh/v1alpha1", "keda.sh/v1alpha1/ScaledObject", "argoproj.io/v1alpha1/Rollout")
_MOST_QUOTED: Final = 2000


def is_chart(directory: str) -> bool:
    return Path(directory, CHART).is_file()


def kustomization_in(directory: str) -> Path | None:
    """The file that makes the folder a kustomization."""
    return next((file for name in sorted(KUSTOMIZATIONS) if (file := Path(directory, name)).is_file()), None)


def helm_template(directory: str, values: Sequence[str], kubernetes: Version, limits: ToolLimits) -> str:
    """What `helm template` prints, as for a cluster of this version that has all kinds that hypot knows."""
    helm = shutil.which("helm")
    if helm is None:
        raise BadInput(f"{directory}: a chart is rendered by helm, which is not installed: {_HELM}")
    for file in values:
        if not Path(file).is_file():
            raise BadInput(f"{file}: there is no such file of values")
    options = [f"--values={file}" for file in values] + [f"--api-versions={api}" for api in _apis()]
    version = f"--kube-version={show_version(kubernetes)}"
    result = run_tool([helm, "template", version, *options, "--", directory], _environment(), limits)
    return _text_of(result, directory, "helm template")


def kustomize_build(directory: str, limits: ToolLimits) -> tuple[str, Path]:
    """What kustomize prints, with the file of each object in an annotation, relative to the folder that is returned.

    A kustomization of our own around it asks for the annotations. What is too old to know them renders without.
    """
    command, name = _kustomize(directory)
    inside = Path(directory).resolve()
    with tempfile.TemporaryDirectory(prefix="hypot-") as made:
        folder = Path(made).resolve()
        around = {"resources": [os.path.relpath(inside, folder)], "buildMetadata": ["originAnnotations"]}
        (folder / "kustomization.yaml").write_text(json.dumps(around), encoding="utf-8")
        result = run_tool([*command, str(folder)], _environment(), limits)
        if not result.status or result.over:
            return _text_of(result, directory, name), folder
    # The messages name the user's own folders.
    return _text_of(run_tool([*command, directory], _environment(), limits), directory, name), inside


def _kustomize(directory: str) -> tuple[list[str], str]:
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build"], "kustomize build"
    if kubectl := shutil.which("kubectl"):
        return [kubectl, "kustomize"], "kubectl kustomize"
    raise BadInput(
        f"{directory}: a kustomization is rendered by kustomize or kubectl, and neither is installed: {_KUSTOMIZE}"
    )


def _apis() -> Iterable[str]:
    """The API versions of the kinds that are no part of Kubernetes, alone and with the kind."""
    for info in CATALOGUE.values():
        if info.crd:
            yield from (info.api_version, f"{info.api_version}/{info.name}")
    yield from _MORE_APIS


def _environment() -> dict[str, str]:
    return {**os.environ, **_NO_NETWORK}


def _text_of(result: ToolResult, directory: str, tool: str) -> str:
    said = _quoted(result.err)
    if result.over:
        raise BadInput(f"{directory}: {tool} was stopped: {result.over}{said}")
    if result.status:
        raise BadInput(
            f"{directory}: {tool} failed with exit status {result.status}{said}{_advice(said, directory, tool)}"
        )
    return result.out.decode("utf-8", "replace")


def _quoted(err: bytes) -> str:
    """The end of what the tool said, indented."""
    text = err.decode("utf-8", "replace").strip()
    text = text if len(text) <= _MOST_QUOTED else f"… {text[-_MOST_QUOTED:]}"
    return "".join(f"\n    {printable(line)}" for line in text.splitlines() if line.strip())


def _advice(said: str, directory: str, tool: str) -> str:
    if "helm dependency" in said:
        return f"\nhypot renders without a network; run this once: `helm dependency build {directory}`"
    if any(word in said for word in _REMOTE):
        return f"\nhypot renders without a network; render it yourself: `{tool} {directory} | hypot lint -`"
    if _OUTSIDE in said:
        command = f"{tool} --load-restrictor LoadRestrictionsNone {directory}"
        return f"\nif it may read files outside its folder, render it yourself: `{command} | hypot lint -`"
    if is_chart(directory):
        tried = sorted(Path(directory, "ci").glob("*values.y*ml"))
        return f"\nif the chart needs values, pass them with --values {tried[0] if tried else 'FILE'}"
    return ""

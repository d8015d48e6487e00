"""Applying objects and reading them back, over TLS on loopback."""

import copy
import json
import pickle
import subprocess
import sys
from typing import get_args

import pytest
from aiohttp import web

from hypot import HPA, VPA, WPA, InvalidAutoscaler, band
from hypot.cluster.apply import (
    ApplyConflict,
    ApplyRefused,
    FieldConflict,
    KindWord,
    LiveRefused,
    apply,
    kind_named,
    live,
)
from hypot.cluster.port import UnreachableError
from unit.cluster.server import running

WEB = HPA("deployment/web", max_replicas=10, namespace="shop")


class ApiServer:
    """Answers every request with the same answer, and keeps what it was asked."""

    def __init__(self, status, answer):
        self.status, self.answer, self.asked = status, answer, []

    async def __call__(self, request):
        body = await request.read()
        self.asked.append((request.method, request.path, dict(request.query), json.loads(body) if body else None))
        self.content = request.headers.get("Content-Type")
        return web.json_response(self.answer, status=self.status)


def status(code, reason, message, **details):
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


def test_an_object_is_applied_and_returned_as_stored(tmp_path):
    """By server-side apply, with hypot's manager, and checked strictly."""
    server = ApiServer(200, WEB.effective().to_dict())
    with running(server, tmp_path) as config:
        stored = apply(WEB, kubeconfig=config)
    assert stored.min_replicas == 1
    query = {"fieldManager": "hypot-authoring", "force": "false", "fieldValidation": "Strict"}
    path = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web"
    assert server.asked == [("PATCH", path, query, WEB.to_dict())]
    assert server.content == "application/apply-patch+yaml"


def test_a_dry_run_and_force_are_asked_for(tmp_path):
    """Without a namespace the object goes to that of the context."""
    server = ApiServer(200, HPA("deployment/web", max_replicas=3).to_dict())
    with running(server, tmp_path) as config:
        apply(HPA("deployment/web", max_replicas=3), kubeconfig=config, dry_run=True, force=True)
    ((_, path, query, body),) = server.asked
    assert "/namespaces/own/" in path
    assert body["metadata"]["namespace"] == "own"
    assert (query["dryRun"], query["force"]) == ("All", "true")


def test_what_the_cluster_wrote_is_not_sent_back(tmp_path):
    """An object that was read can be applied: its status and managed fields are left out."""
    read = WEB.to_dict() | {"status": {"currentReplicas": 1}}
    read["metadata"] |= {"managedFields": [], "resourceVersion": "1", "uid": "2"}
    server = ApiServer(200, read)
    with running(server, tmp_path) as config:
        apply(HPA.from_dict(read), kubeconfig=config)
    assert server.asked[0][3] == WEB.to_dict()


def test_conflicts_name_each_field_and_its_owner(tmp_path):
    """Nothing was changed, and the message says how to go on."""
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using autoscaling/v2', "field": field}
        for field in (".spec.maxReplicas", ".spec.metrics")
    ]
    server = ApiServer(409, status(409, "Conflict", "Apply failed with 2 conflicts", causes=causes))
    with running(server, tmp_path) as config, pytest.raises(ApplyConflict) as found:
        apply(WEB, kubeconfig=config)
    assert [tuple(one) for one in found.value.conflicts] == [
        ("spec.maxReplicas", "kubectl"),
        ("spec.metrics", "kubectl"),
    ]
    assert "1. spec.maxReplicas belongs to kubectl" in str(found.value)
    assert "force=True" in str(found.value)


def test_problems_are_raised_before_anything_is_sent(tmp_path):
    """The cluster would refuse the object, so it is not asked."""
    broken = HPA.from_dict(WEB.to_dict() | {"spec": {"maxReplicas": 0}})
    server = ApiServer(200, {})
    with running(server, tmp_path) as config, pytest.raises(InvalidAutoscaler):
        apply(broken, kubeconfig=config)
    assert server.asked == []


@pytest.mark.parametrize(
    ("code", "answer", "message"),
    [
        (404, "404 page not found", "does not serve datadoghq.com/v1alpha1; install it: hypot crds"),
        (
            403,
            status(403, "Forbidden", "no access"),
            "no access; it needs the verbs patch, and create for new objects, for watermarkpodautoscalers",
        ),
        (401, status(401, "Unauthorized", "Unauthorized"), "does not accept these credentials: log in again"),
        (422, status(422, "Invalid", "spec.x: Invalid value", name="web"), "spec.x: Invalid value"),
    ],
)
def test_a_refusal_says_what_to_do(tmp_path, code, answer, message):
    """With the cluster's own words."""
    made = WPA("deployment/web", max_replicas=3, metrics=[band("jobs", low=1, high=2)])
    with running(ApiServer(code, answer), tmp_path) as config, pytest.raises(ApplyRefused, match="own/web") as found:
        apply(made, kubeconfig=config)
    assert message in str(found.value)


def test_live_reads_an_object_or_none(tmp_path):
    """With its status; the kind may be a short name."""
    with running(ApiServer(200, WEB.to_dict() | {"status": {"currentReplicas": 3}}), tmp_path) as config:
        assert live("hpa", "web", "shop", kubeconfig=config).status == {"currentReplicas": 3}
    missing = status(404, "NotFound", 'horizontalpodautoscalers "web" not found', name="web")
    server = ApiServer(404, missing)
    with running(server, tmp_path) as config:
        assert live(HPA, "web", kubeconfig=config) is None
    assert server.asked[0][1].startswith("/apis/autoscaling/v2/namespaces/own/")
    with running(ApiServer(404, "404 page not found"), tmp_path) as config, pytest.raises(LiveRefused, match="serve"):
        live(VPA, "web", kubeconfig=config)


def test_every_kubernetes_serves_an_hpa(tmp_path):
    """There is nothing to install; the cluster is old."""
    with running(ApiServer(404, "404 page not found"), tmp_path) as config, pytest.raises(LiveRefused) as found:
        live("hpa", "web", kubeconfig=config)
    assert str(found.value).endswith("does not serve autoscaling/v2; Kubernetes has it from 1.23 on")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>log in</html>",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"kind": "HorizontalPodAutoscalerList", "apiVersion": "autoscaling/v2", "items": []}',
        json.dumps(WEB.to_dict() | {"apiVersion": "autoscaling/v1"}).encode(),
        json.dumps(WEB.to_dict() | {"metadata": {"name": "other"}}).encode(),
        json.dumps(VPA("deployment/web").to_dict()).encode(),
    ],
    ids=lambda body: str(body[:20]),
)
def test_a_good_status_without_the_object_is_no_answer(tmp_path, body):
    """Something else answered, such as a proxy; an empty object would be a lie."""

    async def answers(_):
        return web.Response(body=body)

    with running(answers, tmp_path) as config:
        for call in (lambda: apply(WEB, kubeconfig=config), lambda: live("hpa", "web", kubeconfig=config)):
            with pytest.raises(UnreachableError, match="status 200, but not with HorizontalPodAutoscaler web"):
                call()


@pytest.mark.parametrize("name", ["", None, "..", "a/b", "Web", 3])
def test_what_is_no_name_is_not_asked_for(name):
    """Its path would be that of something else, such as the whole collection."""
    with pytest.raises(ValueError, match="is not the name of an object"):
        live("hpa", name)
    with pytest.raises(ValueError, match="is not a namespace"):
        live("hpa", "web", name if name is not None else 0)


@pytest.mark.parametrize("given", [WEB.to_dict(), None, 3, "hpa"])
def test_what_is_no_autoscaler_is_not_applied(given):
    """The message says how to make one of a manifest."""
    with pytest.raises(TypeError, match="read a manifest with HPA"):
        apply(given)


@pytest.mark.parametrize("kind", [3, None, dict, WEB])
def test_live_takes_a_kind(kind):
    """A class, or a word."""
    with pytest.raises(TypeError, match="live takes a kind"):
        live(kind, "web")


def test_the_words_that_types_allow_are_words_of_the_catalogue():
    """Each is its kind."""
    for words in get_args(KindWord):
        assert len({kind_named(word) for word in get_args(words)} if get_args(words) else {kind_named(words)}) == 1


def test_a_conflict_reaches_another_process():
    """Exceptions are pickled on the way out of it."""
    before = ApplyConflict("HPA shop/web", (FieldConflict("spec.maxReplicas", "kubectl"),))
    for after in (pickle.loads(pickle.dumps(before)), copy.copy(before), copy.deepcopy(before)):  # noqa: S301
        assert (str(after), after.conflicts) == (str(before), before.conflicts)


def test_importing_hypot_needs_no_network():
    """Nor does looking at what is in it: notebooks do that, and it must be quick."""
    script = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"aiohttp", "msgspec", "yarl", "cryptography", "structlog"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from hypot import *
import hypot, inspect, pydoc
inspect.getmembers(hypot)
pydoc.render_doc(hypot)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.asyncio
async def test_a_notebook_can_apply(tmp_path):
    """There an event loop is already running."""
    with running(ApiServer(200, WEB.to_dict()), tmp_path) as config:
        assert apply(WEB, kubeconfig=config) == WEB


def test_an_unreachable_server_is_reported(tmp_path):
    """The message names the request and never the token."""
    with running(ApiServer(200, {}), tmp_path) as config:
        pass
    with pytest.raises(UnreachableError) as found:
        apply(WEB, kubeconfig=config)
    assert "secret-word" not in str(found.value)


def test_an_unknown_kind_is_refused_with_a_suggestion():
    """Before a kubeconfig is read."""
    assert kind_named("VPA") is VPA
    with pytest.raises(ValueError, match="did you mean hpa"):
        live("hpaa", "web")

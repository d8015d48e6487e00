"""AdmissionReviews: every pod is allowed, and what is not a review is refused with a message."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.vpa.knobs import Knobs
from hypot.run.webhook.admission import LARGEST_BODY, BadReviewError, _read, review
from unit.policy.sizes_world import recommended
from unit.run.webhook.admission_world import TWO, applied, pod, request, scaled, sizer


def answered(body, autoscaler, ranges=()):
    done = review(json.dumps(body).encode(), lambda _pod, _namespace: autoscaler, lambda _namespace: ranges)
    answer = json.loads(done.body)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    return answer["response"]


class TestReview:
    """Requests and answers."""

    def test_a_patch_and_its_mark(self):
        """The answer names the request and allows it."""
        response = answered(request(pod()), TWO)
        done = applied(pod(), json.loads(base64.b64decode(response.pop("patch"))))
        uid = "705ab4f5-6393-11e8-b7cc-42010a800002"
        assert response == {"uid": uid, "allowed": True, "patchType": "JSONPatch"}
        assert done["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2"
        assert done["metadata"]["annotations"] == {
            "hypot.dev/sized-by": "VerticalPodAutoscaler/web",
            "vpaObservedContainers": "app",
        }

    @pytest.mark.parametrize(("may", "cpu", "mark"), [(True, "500m", ""), (False, "1", "/larger")])
    def test_whether_pods_may_shrink_is_asked_each_time(self, may, cpu, mark):
        """While earlier needs are unknown, a new pod is no smaller than written, and is marked so."""
        small, asked = sizer(recommended(target=("500m", None))), []

        def may_shrink():
            asked.append(may)
            return may

        body = json.dumps(request(pod())).encode()
        done = review(body, lambda _pod, _namespace: small, lambda _namespace: (), Knobs(), may_shrink)
        after = applied(pod(), json.loads(base64.b64decode(json.loads(done.body)["response"]["patch"])))
        assert after["spec"]["containers"][0]["resources"]["requests"]["cpu"] == cpu
        assert after["metadata"]["annotations"]["hypot.dev/sized-by"] == f"VerticalPodAutoscaler/web{mark}"
        assert asked == [may]

    def test_the_pod_and_its_namespace_are_asked_for(self):
        """A new pod often has no namespace of its own."""
        asked = []

        def find(found, namespace):
            asked.append((found["metadata"]["generateName"], namespace))

        review(json.dumps(request(pod())).encode(), find, lambda _: ())
        assert asked == [("web-5d9c-", "shop")]

    @pytest.mark.parametrize(
        "changes",
        [
            {"operation": "UPDATE"},
            {"subResource": "ephemeralcontainers"},
            {"resource": {"group": "apps", "version": "v1", "resource": "pods"}},
            {"object": None},
            {"object": [1]},
        ],
    )
    def test_allowed_as_it_is_where_no_pod_is_created(self, changes):
        """The webhook is not registered for it, and does nothing if it is called."""
        assert answered(request(pod(), **changes), TWO).keys() == {"uid", "allowed"}

    def test_allowed_as_it_is_without_an_autoscaler(self):
        """This holds for most pods."""
        assert answered(request(pod()), None).keys() == {"uid", "allowed"}

    def test_allowed_as_it_is_where_looking_fails(self):
        """An error in hypot must not stop a pod from being created."""
        done = review(json.dumps(request(pod())).encode(), lambda _pod, _namespace: {}["no"], lambda _namespace: ())
        assert json.loads(done.body)["response"]["allowed"] is True
        assert (done.patched, done.error) == (False, "KeyError")

    def test_repeated_requests_make_one_object_each(self):
        """The last one counts. What they leave out is shared: a body has room for a hundred thousand of them."""
        head, _ = json.dumps(request({})).encode().split(b'"request"')
        body = head + b'"request":{"uid":"a"},"request":{"uid":"b"}}'
        assert json.loads(review(body, lambda *_: TWO, lambda _: ()).body)["response"]["uid"] == "b"
        first, second = _read(body), _read(body)
        assert first.resource is second.resource
        assert first.object is second.object

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{}",
            b"[]",
            b"\xff",
            json.dumps({**request({}), "apiVersion": "admission.k8s.io/v1beta1"}).encode(),
            json.dumps({**request({}), "kind": "Pod"}).encode(),
            json.dumps(request({}, uid=1)).encode(),
            b"[" * 100_000,
            json.dumps(request({})).encode().replace(b"{}", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
            b" " * (LARGEST_BODY + 1),
        ],
        ids=["empty", "none", "list", "bytes", "version", "kind", "uid", "open", "deep", "large"],
    )
    def test_what_is_not_a_review_is_refused(self, body):
        """The error has a message."""
        with pytest.raises(BadReviewError, match=r".+"):
            review(body, lambda _pod, _namespace: TWO, lambda _namespace: ())


KEYS = (
    "metadata",
    "annotations",
    "spec",
    "containers",
    "initContainers",
    "resources",
    "requests",
    "limits",
    "cpu",
    "name",
)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
)
NUMBERS = st.sampled_from(["1", "-1", "1e99", "0", "2Gi", "app", 5, None])
ODD = st.recursive(
    PLAIN | NUMBERS,
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inside, max_size=4)
    ),
    max_leaves=20,
)
ODD_CONTAINER = st.fixed_dictionaries({"name": st.just("app")}, optional={"resources": ODD, "restartPolicy": ODD})
ODD_POD = st.fixed_dictionaries(
    {
        "metadata": ODD | st.just({}),
        "spec": st.fixed_dictionaries({"containers": st.lists(ODD_CONTAINER | ODD, max_size=3)}),
    }
)


@given(ODD_POD | ODD, ODD, st.booleans())
def test_any_pod_is_allowed(document, status, by_vpa):
    """It is allowed however odd it or the status of its autoscaler is, and the patch can be applied."""
    autoscaler = TWO if by_vpa else scaled(("app", {"cpu": "2"}, {}))
    if status is not None:
        autoscaler = type(autoscaler).from_dict({**autoscaler.to_dict(), "status": status})
    response = answered(request(document), autoscaler)
    assert response["allowed"] is True
    if "patch" in response:
        applied(document, json.loads(base64.b64decode(response["patch"])))


@given(ODD)
def test_any_body_is_answered_or_refused(body):
    """Nothing else is raised."""
    try:
        done = review(json.dumps(body).encode(), lambda _pod, _namespace: TWO, lambda _namespace: ())
    except BadReviewError as error:
        assert str(error)  # noqa: PT017
    else:
        assert json.loads(done.body)["response"]["allowed"] is True

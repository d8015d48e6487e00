"""Folders that define the same objects, as examples and overlays do: each is checked for itself."""

import pytest

from hypot.kinds.text.load import LoadedFiles, Source
from hypot.lint import check
from unit.lint.lint_cases import (
    band,
    changed,
    container,
    hpa,
    of_container,
    thing,
    tortoise,
    vpa,
    workload,
    wpa,
)

PDB = thing("policy/v1", "PodDisruptionBudget", minAvailable=2, selector={"matchLabels": {"app": "web"}})
NO_REQUEST = container(requests={"memory": "1Gi"})


def at(file, *objects):
    return [LoadedFiles(one, Source(file, 1)) for one in objects]


def found(*loaded, **how):
    """The rule and the file of each finding."""
    objects = [one for some in loaded for one in some]
    return sorted((one.rule, one.file) for one in check(*objects, **how).findings)


def alone_and_together(*folders):
    """The findings of each folder alone, and those of all of them."""
    return sorted(one for each in folders for one in found(each)), found(*folders)


def test_variants_are_no_duplicates():
    """They are named in the report; twice in one folder is a finding, once for all of them."""
    one, other = at("a/web.yaml", hpa(), workload()), at("b/web.yaml", hpa(), workload())
    report = check(*one, *other)
    assert not report.findings
    assert report.variants == ("HorizontalPodAutoscaler shop/web", "Deployment shop/web")
    more = [*at("a/x.yaml", hpa()), *at("a/y.yaml", hpa())]
    (twice,) = check(*one, *more).findings
    assert (twice.rule, twice.file) == ("duplicate-object", "a/y.yaml")
    assert twice.message.endswith("is also defined in web.yaml, line 1 and x.yaml, line 1")


def test_workloads_that_nothing_scales_are_not_named():
    """Variants of these change nothing."""
    report = check(*at("a/web.yaml", workload("api")), *at("b/web.yaml", workload("api")), *at("c.yaml", hpa()))
    assert report.variants == ()


@pytest.mark.parametrize(
    ("scaler", "rule"),
    [
        (hpa(), "request-missing"),
        (hpa(metrics=[of_container("api")]), "container-missing"),
        (vpa(resourcePolicy={"containerPolicies": [{"containerName": "api"}]}), "policy-container-missing"),
    ],
)
def test_each_autoscaler_is_checked_with_the_nearest_workload(scaler, rule):
    """That of its folder, not the one that was read last."""
    good = workload("web", container("app"), container("api"))
    folders = [at("a/web.yaml", scaler, workload("web", NO_REQUEST)), at("b/web.yaml", scaler, good)]
    alone, together = alone_and_together(*folders)
    assert [one for one in together if one[0] == rule] == [(rule, "a/web.yaml")]
    assert alone == together


def test_the_longest_common_path_is_the_nearest():
    """Of two that are as near, the one that is higher up."""
    bad = workload("web", NO_REQUEST)
    workloads = [*at("shop/base/web.yaml", workload()), *at("shop/all.yaml", bad), *at("mail/web.yaml", bad)]
    scaler = at("shop/base/scaling/web.yaml", hpa())
    assert found(workloads, scaler) == []
    assert found(workloads, at("shop/scaling/web.yaml", hpa())) == [("request-missing", "shop/scaling/web.yaml")]


def test_replicas_are_fixed_on_the_nearest_only():
    """An autoscaler is named once, also if it has variants."""
    one, other = at("a/web.yaml", hpa(), workload(replicas=3)), at("b/web.yaml", workload(replicas=3))
    assert found(one, other) == [("replicas-on-target", "a/web.yaml")]
    (finding,) = check(
        *at("a/web.yaml", hpa()), *at("b/web.yaml", hpa()), *at("web.yaml", workload(replicas=3))
    ).findings
    assert finding.message.endswith("overrides HorizontalPodAutoscaler shop/web")


PAIRS = [
    (hpa(), hpa("other"), "two-autoscalers"),
    (hpa(), wpa(), "two-autoscalers"),
    (vpa(), vpa("other"), "two-sizers"),
    (hpa(), vpa(updatePolicy={"updateMode": "Recreate"}), "vpa-conflict"),
]


@pytest.mark.parametrize(("one", "other", "rule"), PAIRS)
def test_autoscalers_of_alternative_folders_do_not_conflict(one, other, rule):
    """With one target for both, as in a base; in folders that are no alternatives they do."""
    base = at("base/web.yaml", workload())
    first, second = at("overlays/a/scaling.yaml", one), at("overlays/b/scaling.yaml", other)
    assert rule in {name for name, _ in found(base, first, second)}
    shared = thing("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "shared", targetRef={"kind": "X", "name": "y"})
    marks = [*at("overlays/a/x.yaml", shared), *at("overlays/b/x.yaml", shared)]
    assert rule not in {name for name, _ in found(base, first, second, marks)}
    again = at("overlays/a/more/scaling.yaml", other)
    assert rule in {name for name, _ in found(base, first, second, marks, again)}


def test_a_conflict_names_what_it_meets():
    """Not what other folders have."""
    scalers = [hpa(), hpa("other")]
    folders = [at("a/web.yaml", *scalers, workload()), at("b/web.yaml", *scalers, hpa("third"), workload())]
    report = check(*folders[0], *folders[1])
    messages = {one.message for one in report.findings if one.file == "a/web.yaml"}
    assert {one.rule for one in report.findings} == {"two-autoscalers"}
    assert len(messages) == 2
    assert not any("third" in message for message in messages)


def test_pods_of_alternative_folders_do_not_meet():
    """Their labels are the same, and no selector sees both."""
    one = at("a/web.yaml", hpa(), workload(), PDB)
    other = at("b/web.yaml", hpa(minReplicas=3), workload(), PDB)
    assert found(one, other) == [("pdb-blocks-evictions", "a/web.yaml")]
    stranger = at("b/more/job.yaml", workload("migrate", kind="Job", labels={"app": "web"}))
    assert found(one, other, stranger) == [("foreign-pods", "b/web.yaml"), ("pdb-blocks-evictions", "a/web.yaml")]
    twin = [hpa("api", target={"name": "api"}), workload("api", labels={"app": "web"}, selector={"app": "web"})]
    names = {name for name, _ in found(one, other, at("b/more/api.yaml", *twin))}
    assert "ambiguous-selector" in names
    files = {file for name, file in found(one, other, at("b/more/api.yaml", *twin)) if name == "ambiguous-selector"}
    assert files == {"b/web.yaml", "b/more/api.yaml"}


def test_selectors_of_watermarks_see_their_folder_only():
    """The same labels elsewhere are those of a variant."""
    scaler = wpa(metrics=[band("Resource")])
    folders = [at("a/web.yaml", scaler, workload()), at("b/web.yaml", scaler, workload())]
    assert "wpa-selector-too-wide" not in {name for name, _ in found(*folders)}
    more = at("b/more/api.yaml", workload("api", labels={"app": "web"}))
    assert ("wpa-selector-too-wide", "b/web.yaml") in found(*folders, more)
    assert ("wpa-selector-too-wide", "a/web.yaml") not in found(*folders, more)


def test_quotas_and_defaults_are_those_of_the_folder():
    """A LimitRange of another folder gives no request, and a quota of another folder limits nothing."""
    limits = thing("v1", "LimitRange", limits=[{"type": "Container", "defaultRequest": {"cpu": "1"}}])
    quota = thing("v1", "ResourceQuota", hard={"pods": "3"})
    bare = workload("web", NO_REQUEST)
    one, other = at("a/web.yaml", hpa(), bare, limits), at("b/web.yaml", hpa(), bare, quota)
    assert found(one, other) == [("quota-too-small", "b/web.yaml"), ("request-missing", "b/web.yaml")]


def test_a_tortoise_edits_the_hpa_of_its_folder():
    """That of another folder may scale another workload."""
    named = tortoise(refs={"horizontalPodAutoscalerName": "web"}, annotations=None)
    metrics = {"metrics": [of_container("app")]}
    one = at("a/web.yaml", named, hpa(**metrics), workload())
    other = at("b/web.yaml", named, hpa(**metrics, target={"name": "api"}), workload(), workload("api"))
    assert [one for one in found(one, other) if one[0] == "hpa-target"] == [("hpa-target", "b/web.yaml")]


def test_a_base_above_its_overlays():
    """A folder and a folder in it may be alternatives too."""
    top, inner = at("web.yaml", hpa(), workload()), at("overlay/web.yaml", hpa("other"), hpa(), workload())
    assert found(top, inner) == [("two-autoscalers", "overlay/web.yaml")] * 2


def many(*names):
    return [one for name in names for one in (hpa(name, target={"name": name}), workload(name))]


def test_bundles_of_one_folder_are_variants():
    """As install.yaml and install-ha.yaml: files that share three objects or more, and half of their own."""
    full, plain = at("install/ha.yaml", *many("a", "b", "c")), at("install/plain.yaml", *many("a", "b"))
    assert found(full, plain) == []
    more = at("install/plain.yaml", *many("a", "b"), hpa("other", target={"name": "a"}))
    assert found(full, more) == [("two-autoscalers", "install/plain.yaml")] * 2


def test_files_that_share_a_little_are_no_bundles():
    """Two objects may be a mistake; three among many too."""
    assert "duplicate-object" in {rule for rule, _ in found(at("a/x.yaml", *many("a")), at("a/y.yaml", *many("a")))}
    large = at("a/all.yaml", *many("a", "b", *(f"more-{i}" for i in range(9))))
    small = at("a/y.yaml", *many("a", "b", *(f"other-{i}" for i in range(9))))
    assert [one for one in found(large, small) if one[0] == "duplicate-object"] == [
        ("duplicate-object", "a/y.yaml")
    ] * 4


class TestFilesOfOneFolder:
    """Files that define the same object are alternatives, as examples/a.yaml and examples/b.yaml."""

    @pytest.mark.parametrize(("one", "other", "rule"), PAIRS)
    def test_their_autoscalers_do_not_conflict(self, one, other, rule):
        """The object that both define is reported, because a folder is often applied as a whole."""
        files = [at("examples/a.yaml", workload(), one), at("examples/b.yaml", workload(), other)]
        rules = {name for name, _ in found(*files)}
        assert "duplicate-object" in rules
        assert rule not in rules
        assert rule in {name for name, _ in found([*files[0], *at("examples/b.yaml", other)])}
        assert rule in {name for name, _ in found([*files[0], *at("examples/a.yaml", other)], files[1])}

    def test_workloads_that_are_there_twice(self):
        """Also if the autoscaler is in a third file."""
        files = at("x/a.yaml", workload()), at("x/b.yaml", workload()), at("x/hpa.yaml", hpa())
        assert found(*files) == [("duplicate-object", "x/b.yaml")]

    def test_files_without_a_folder(self):
        """As of `hypot lint .` and of `hypot lint a.yaml b.yaml`."""
        files = at("a.yaml", workload(), hpa()), at("b.yaml", workload(), hpa("other"))
        assert found(*files) == [("duplicate-object", "b.yaml")]

    def test_each_is_checked_with_its_own_workload(self):
        one, other = at("x/a.yaml", workload(), hpa()), at("x/b.yaml", workload("web", NO_REQUEST), hpa("other"))
        assert ("request-missing", "x/b.yaml") in found(one, other)
        assert ("request-missing", "x/a.yaml") not in found(one, other)


def test_a_folder_with_an_alternative_is_apart_from_all_alternatives():
    """As docs, scenarios and tests, of which only some define the same objects."""
    scalers = [at("docs/a.yaml", hpa(), workload()), at("scenarios/a.yaml", wpa()), at("tests/a.yaml", workload())]
    assert "two-autoscalers" in {rule for rule, _ in found(*scalers)}
    marks = at("tests/b.yaml", wpa())
    assert found(*scalers, marks) == [("target-not-given", "scenarios/a.yaml")]


def test_what_only_an_alternative_has_is_not_in_the_input():
    """A Deployment of docs is not the one that the HPA of an example means."""
    marks = [*at("a/vpa.yaml", vpa()), *at("b/vpa.yaml", vpa())]
    workloads = [*at("a/web.yaml", workload("web", NO_REQUEST)), *at("c/web.yaml", workload("web", NO_REQUEST))]
    assert ("request-missing", "c/hpa.yaml") in found(marks, workloads, at("c/hpa.yaml", hpa()))
    alone = at("a/web.yaml", workload("web", NO_REQUEST)), at("c/web.yaml", workload("web", NO_REQUEST))
    scaler = at("b/hpa.yaml", hpa())
    assert ("target-not-given", "b/hpa.yaml") in found(marks, *alone, scaler)
    more = at("b/x.yaml", workload("api")), at("a/x.yaml", workload("api"))
    assert ("target-missing", "b/hpa.yaml") in found(marks, *alone, *more, scaler)
    assert ("request-missing", "b/hpa.yaml") not in found(marks, *alone, *more, scaler)


class TestTheOtherSide:
    """A conflict says where the other objects are."""

    @pytest.mark.parametrize(("one", "other", "rule"), PAIRS)
    def test_of_a_conflict(self, one, other, rule):
        report = check(*at("a/x.yaml", one), *at("a/y.yaml", other), *at("a/web.yaml", workload()))
        places = {(f.file, place.file, place.line) for f in report.findings if f.rule == rule for place in f.related}
        assert ("a/x.yaml", "a/y.yaml", 1) in places

    def test_once_for_all_alternatives(self):
        """An autoscaler of a base meets one of each overlay: that is one finding."""
        recreating = vpa(updatePolicy={"updateMode": "Recreate"})
        overlays = [*at("overlays/dev/vpa.yaml", recreating), *at("overlays/prod/vpa.yaml", recreating)]
        findings = check(*at("base/web.yaml", hpa(), workload()), *overlays).findings
        (finding,) = [one for one in findings if one.rule == "vpa-conflict"]
        assert [place.file for place in finding.related] == ["overlays/dev/vpa.yaml", "overlays/prod/vpa.yaml"]

    def test_without_files_there_are_only_names(self):
        findings = check(hpa(), hpa("other"), workload()).findings
        assert [(place.file, place.line) for finding in findings for place in finding.related] == [("", None)] * 2


class TestPoliciesWithoutNamespace:
    """They are applied anywhere, so they are for what is above or below them in the folders."""

    @staticmethod
    def findings(folder, **metadata):
        quota = thing("v1", "ResourceQuota", hard={"pods": "3"})
        limits = thing("v1", "LimitRange", limits=[{"type": "Container", "defaultRequest": {"cpu": "1"}}])
        objects = [hpa(), workload("web", NO_REQUEST), quota, limits]
        for one in objects:
            one["metadata"].pop("namespace")
        for one in (quota, limits):
            one["metadata"].update(metadata)
        return {rule for rule, _ in found(at("apps/web/web.yaml", *objects[:2]), at(f"{folder}x.yaml", *objects[2:]))}

    @pytest.mark.parametrize("folder", ["apps/web/", "apps/", "", "apps/web/limits/"])
    def test_in_the_same_tree(self, folder):
        assert self.findings(folder) == {"quota-too-small"}

    @pytest.mark.parametrize("folder", ["apps/api/", "docs/examples/"])
    def test_elsewhere(self, folder):
        assert self.findings(folder) == {"request-missing"}
        assert self.findings(folder, namespace="default") == {"quota-too-small"}


def test_what_is_rendered_belongs_together():
    """A chart has templates in many folders, and they make one release."""
    one = LoadedFiles(hpa(), Source("chart/templates/a/hpa.yaml", 1, rendered=True))
    other = LoadedFiles(hpa(), Source("chart/templates/b/hpa.yaml", 1, rendered=True))
    assert "duplicate-object" in {one.rule for one in check(one, other).findings}


class TestMissingTargets:
    def test_other_workloads_far_away(self):
        """In a repository, workloads of other folders say nothing about a target."""
        far = at("b/api.yaml", workload("api"))
        assert found(at("a/hpa.yaml", hpa()), far) == [("target-not-given", "a/hpa.yaml")]
        assert found(at("a/hpa.yaml", hpa()), at("a/api.yaml", workload("api"))) == [("target-missing", "a/hpa.yaml")]

    def test_a_similar_name_anywhere(self):
        """It is the one that is meant, and the fix says so."""
        (finding,) = check(*at("a/hpa.yaml", hpa(target={"name": "cart"})), *at("b/c.yaml", workload("carts"))).findings
        assert (finding.rule, finding.hint) == ("target-missing", "did you mean carts?")


def test_a_budget_and_a_minimum_that_is_filled_in_later():
    """What the minimum is, nobody knows yet."""
    one = changed(PDB, "spec", "minAvailable", to=1)
    assert ("pdb-blocks-evictions", "") in found([hpa(minReplicas=1), workload(), one])
    for scaler in (
        hpa(minReplicas="<MIN>"),
        thing("keda.sh/v1alpha1", "ScaledObject", scaleTargetRef={"name": "web"}, minReplicaCount="${MIN}"),
    ):
        assert "pdb-blocks-evictions" not in {name for name, _ in found([scaler, workload(), one])}

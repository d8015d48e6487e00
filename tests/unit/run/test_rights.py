"""The permissions of hypot follow its configuration, and nothing more."""

from dataclasses import replace

import pytest

from fake_cluster import FakeCluster
from hypot.kinds.catalogue import controlled, names_of
from hypot.run.config import RunConfig
from hypot.run.observe import watches
from hypot.run.rights import (
    CERTIFICATE,
    LEASE,
    STATE_SHARDS,
    Grants,
    Right,
    all_rights,
    cluster_rules,
    features,
    features_of,
    merged,
    namespace_rules,
    resource_of,
    rights_for,
    said_by,
    state_name,
    watched_rules,
)
from hypot.run.store import shards
from hypot.run.webhook import certificate_store, registration

KINDS = names_of(controlled())
NOTHING = RunConfig(kinds=dict.fromkeys(KINDS, "off"))
EVERYTHING = RunConfig(kinds=dict.fromkeys(KINDS, "act"))
ALL_GRANTS = Grants(template=True, children=True, targets=(("argoproj.io", "rollouts"),))
WRITES = {"create", "update", "patch", "delete"}


def only(**kinds):
    return replace(NOTHING, kinds={**NOTHING.kinds, **kinds})


def allowed(config, grants=None):
    """(group/resource, verb) of everything outside hypot's own namespace."""
    rights = rights_for(config, grants or Grants())
    return {(f"{group}/{resource}".lstrip("/"), verb) for group, resource, verb, _ in said_by(cluster_rules(rights))}


def test_every_right_says_for_what():
    """Every right has a reason and belongs to a known feature."""
    known = {feature.name for feature in features()}
    assert all(right.why for right in all_rights())
    assert {feature for right in all_rights() for feature in right.features} <= known


def test_every_feature_needs_something():
    """A feature without a right would be a switch without effect."""
    assert {feature.name for feature in features()} == {feature for right in all_rights() for feature in right.features}


@pytest.mark.parametrize("config", [NOTHING, RunConfig(), EVERYTHING])
def test_no_wildcard_but_for_metrics(config):
    """Each metric of an adapter is a resource of its own; nothing else is allowed by a wildcard."""
    rights = rights_for(config, ALL_GRANTS)
    said = said_by([*cluster_rules(rights), *namespace_rules(rights)])
    assert all(verb != "*" and group != "*" for group, _, verb, _ in said)
    assert {group for group, resource, _, _ in said if "*" in resource} <= {
        "custom.metrics.k8s.io",
        "external.metrics.k8s.io",
    }


def test_kinds_are_allowed_one_by_one():
    """A kind that is off is neither read nor reported on."""
    for kind in names_of(controlled()):
        group, resource = resource_of(kind)
        reported = (f"{group}/{resource}/status", "patch")
        assert reported in allowed(only(**{kind: "act"}))
        assert reported not in allowed(NOTHING)
        others = {each: "act" for each in KINDS if each != kind}
        assert reported not in allowed(only(**others))


def test_without_a_kind_nothing_outside_is_written():
    """Only caches, and objects in hypot's own namespace."""
    assert {verb for _, verb in allowed(NOTHING)} == {"list", "watch"}


def test_replicas_are_set_only_where_a_kind_counts():
    scale = ("apps/deployments/scale", "update")
    assert scale in allowed(only(WatermarkPodAutoscaler="act"))
    assert scale not in allowed(only(VerticalPodAutoscaler="act"))


def test_sizes_are_set_only_where_a_kind_sizes():
    sizes = {("pods/resize", "patch"), ("pods/eviction", "create")}
    assert sizes <= allowed(only(Hvpa="act"))
    assert sizes <= allowed(only(VerticalPodAutoscaler="act"))
    assert not sizes & allowed(only(WatermarkPodAutoscaler="act", HorizontalPodAutoscaler="act"))


def test_a_recommender_moves_nothing():
    """It writes recommendations and what it learnt, and no pods."""
    written = {each for each in allowed(only(VerticalPodAutoscaler="recommend")) if each[1] in WRITES}
    checkpoints = "autoscaling.k8s.io/verticalpodautoscalercheckpoints"
    assert written == {
        ("autoscaling.k8s.io/verticalpodautoscalers/status", "patch"),
        ("events", "create"),
        ("events", "patch"),
        (checkpoints, "create"),
        (checkpoints, "update"),
    }


@pytest.mark.parametrize(
    "config", [only(**dict.fromkeys(KINDS, "observe")), replace(EVERYTHING, dry_run=True)], ids=["observe", "dry run"]
)
def test_observing_writes_nothing_outside(config):
    """Nothing is allowed that writes outside hypot's own namespace."""
    assert not {each for each in allowed(config, ALL_GRANTS) if each[1] in WRITES}


def test_own_things_are_in_a_role_of_their_own():
    """Secrets and state are reached only in hypot's namespace, and existing ones only by name."""
    rights = rights_for(EVERYTHING, ALL_GRANTS)
    own, outside = said_by(namespace_rules(rights)), said_by(cluster_rules(rights))
    assert {resource for _, resource, _, _ in own} == {"leases", "configmaps", "secrets"}
    assert not {resource for _, resource, _, _ in outside} & {"configmaps", "secrets"}
    assert {(verb, name) for _, resource, verb, name in own if resource == "secrets"} == {
        ("create", ""),
        ("get", CERTIFICATE),
        ("update", CERTIFICATE),
    }
    assert {name for _, _, verb, name in own if verb in {"get", "update"}} == {
        LEASE,
        CERTIFICATE,
        *(f"{state_name(LEASE)}-{number}" for number in range(STATE_SHARDS)),
    }


def test_no_webhook_no_secret():
    """Where nothing is sized, or the webhook is off, no certificate is made."""
    for config in (only(WatermarkPodAutoscaler="act"), replace(EVERYTHING, webhook_port=0)):
        said = said_by([*namespace_rules(rights_for(config)), *cluster_rules(rights_for(config))])
        assert not {resource for _, resource, _, _ in said} & {"secrets", "mutatingwebhookconfigurations"}
        assert "webhook" not in features_of(config)


def test_a_given_certificate_needs_no_secret():
    """Hypot only looks whether the webhook configuration exists; also if it guards its metrics."""
    for more in ({}, {"metrics_auth": True}):
        rights = rights_for(replace(EVERYTHING, webhook_certificate="/certificate", **more))
        said = said_by([*namespace_rules(rights), *cluster_rules(rights)])
        assert "secrets" not in {resource for _, resource, _, _ in said}
        group = "admissionregistration.k8s.io"
        assert {each for each in said if each[0] == group} == {(group, "mutatingwebhookconfigurations", "get", "hypot")}


@pytest.mark.parametrize("config", [NOTHING, EVERYTHING, replace(EVERYTHING, dry_run=True)])
def test_guarded_metrics_need_reviews_and_a_certificate(config):
    """Without the option none of these rights exists."""
    reviews = {"tokenreviews", "subjectaccessreviews"}
    for guarded in (True, False):
        rights = rights_for(replace(config, metrics_auth=guarded))
        resources = {resource for _, resource, _, _ in said_by(cluster_rules(rights))}
        assert (reviews <= resources, not reviews & resources) == (guarded, not guarded)
        if guarded:
            assert "secrets" in {resource for _, resource, _, _ in said_by(namespace_rules(rights))}


def test_the_rest_is_granted_on_purpose():
    """Templates, children and custom targets are allowed only on request."""
    plain, more = allowed(RunConfig()), allowed(RunConfig(), ALL_GRANTS)
    assert more - plain == {
        ("apps/deployments", "patch"),
        ("apps/statefulsets", "patch"),
        ("argoproj.io/rollouts/scale", "get"),
        ("argoproj.io/rollouts/scale", "update"),
        ("autoscaling.k8s.io/hvpas", "patch"),
        *(("autoscaling.k8s.io/verticalpodautoscalers", verb) for verb in ("create", "patch", "delete")),
    }


def test_usage_of_prometheus_needs_no_metrics_server():
    assert ("metrics.k8s.io/pods", "list") in allowed(RunConfig())
    assert ("metrics.k8s.io/pods", "list") not in allowed(RunConfig(prometheus="http://prometheus:9090"))


def test_scoped_rights_leave_only_what_no_namespace_holds():
    """Where namespaces are named, rights within them are granted there and not cluster-wide."""
    rights = rights_for(EVERYTHING, ALL_GRANTS)
    small = said_by(cluster_rules(rights, scoped=True))
    assert {resource for _, resource, _, _ in small} == {
        "nodes",
        "namespaces",
        "leases",
        "mutatingwebhookconfigurations",
    }
    assert small | said_by(watched_rules(rights)) == said_by(cluster_rules(rights))


def test_labels_are_not_read_where_all_opt_in():
    assert ("namespaces", "watch") not in allowed(RunConfig(opt_in="all"))


def test_merged_rules_say_the_same_in_one_order():
    """Fewer rules, the same rights, in any input order."""
    one = Right("apps", "deployments", ("list",), "x", "watched", ("always",))
    two = Right("apps", "deployments", ("watch", "list"), "y", "watched", ("always",))
    three = Right("apps", "statefulsets", ("watch", "list"), "z", "watched", ("always",))
    named = Right("", "secrets", ("get",), "n", "watched", ("always",), ("a",))
    expected = [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["list", "watch"]},
    ]
    assert merged([one, two, three, named]) == merged([named, three, two, one]) == expected


def test_names_are_those_that_the_controller_uses():
    """The table does not import modules that need aiohttp, so that printing roles stays light; the names agree."""
    assert certificate_store.SECRET == CERTIFICATE
    for namespace in ("hypot-system", "team-a"):
        (name,) = {right.names for right in all_rights(namespace) if right.resource == "mutatingwebhookconfigurations"}
        assert registration.configuration_path(namespace).endswith(f"/{name[0]}")
        assert registration.configuration(namespace, "hypot-webhook")["metadata"]["name"] == name[0]
    assert state_name(LEASE) == shards.PREFIX


def test_a_dry_run_touches_nothing_of_an_acting_controller():
    """It uses neither the Lease nor the state of the acting controller."""
    real, trial = (
        {name for _, resource, _, name in said_by(namespace_rules(rights_for(config))) if name}
        for config in (RunConfig(), RunConfig(dry_run=True))
    )
    assert trial
    assert real & trial == set()


def test_only_those_conflicts_are_looked_for_that_do_the_same():
    """Acting conflicts with updaters; VPAs name their recommender, and observing conflicts with nothing."""

    def looked_for(mode):
        rules = cluster_rules(rights_for(RunConfig(kinds={"VerticalPodAutoscaler": mode})))
        return {name for _, resource, verb, name in said_by(rules) if (resource, verb) == ("leases", "get")}

    assert looked_for("act") == {"vpa-updater", LEASE}
    assert looked_for("recommend") == set()
    assert looked_for("observe") == set()


def test_no_lease_outside_is_listed_or_written():
    """Leases of others are read one by one, by name."""
    rights = rights_for(EVERYTHING, ALL_GRANTS)
    outside = {each for each in said_by(cluster_rules(rights)) if each[1] == "leases"}
    assert {(verb, bool(name)) for _, _, verb, name in outside} == {("get", True)}


def test_every_acting_configuration_looks_for_another_hypot():
    """A dry run and an observing controller disturb nothing, so they do not look."""

    def looks(config):
        said = said_by(cluster_rules(rights_for(config)))
        return ("coordination.k8s.io", "leases", "get", LEASE) in said

    assert all(looks(only(**{kind: "act"})) for kind in KINDS)
    assert not looks(only(VerticalPodAutoscaler="recommend", Hvpa="observe"))
    assert not looks(replace(EVERYTHING, dry_run=True))


CONFIGS = [
    NOTHING,
    RunConfig(),
    EVERYTHING,
    RunConfig(opt_in="all", dry_run=True),
    *(only(**{kind: "act"}) for kind in KINDS),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_what_is_watched_is_allowed_and_what_is_allowed_is_watched(config):
    """A watch without its right would never be ready, and a right without its watch is one too many."""
    watched = {each.resource for each in watches.Watches(FakeCluster(), config).all}
    needed = {(f"{each.api_version.rpartition('/')[0]}/{each.plural}".lstrip("/"), "watch") for each in watched}
    assert {each for each in allowed(config) if each[1] == "watch"} == needed
    assert {(resource, "list") for resource, _ in needed} <= allowed(config)


def test_an_autoscaler_needs_no_checkpoints():
    """It goes by what it learned itself; nodes and LimitRanges bound the size of pods."""
    needed = {resource for resource, _ in allowed(only(Autoscaler="act"))}
    assert "autoscaling.k8s.io/verticalpodautoscalercheckpoints" not in needed
    assert {"hypot.dev/autoscalers", "hypot.dev/autoscalers/status", "nodes", "limitranges", "pods/resize"} <= needed

"""The checks of the Tortoise webhooks and of its configuration, case by case; fields are compared, not messages."""

import re
from dataclasses import fields

import pytest

from conformance.harness import each_case
from conformance.tortoise.cases import camel
from hypot.kinds.tortoise import Tortoise, with_defaults
from hypot.kinds.tortoise.rules import update_problems
from hypot.kinds.tortoise.settings import InvalidTortoiseSettings, TortoiseSettings

SIDECAR, INJECTED = "istio-proxy", "sidecar.istio.io/inject"
# Kind of error in a case -> the field that hypot names.
FIELDS = {
    "unsupported_target_kind": "spec.targetRefs.scaleTargetRef.kind",
    "policy_for_unknown_container": "spec.resourcePolicy",
    "hpa_would_be_deleted_needs_DeleteAll": "spec.deletionPolicy",
    "hpa_would_be_deleted_remove_horizontalPodAutoscalerName": "spec.targetRefs.horizontalPodAutoscalerName",
    "immutable_field_changed": "spec.targetRefs.horizontalPodAutoscalerName",
}
# The unit at the end of a key.
UNITS = r"_(percent_points|percent|quantity|seconds)$"
# The key of the original, in small letters -> the setting.
SETTINGS = {f.metadata["flag"].lower(): f for f in fields(TortoiseSettings) if f.metadata["flag"]}


@each_case("tortoise_validation.json")
def test_tortoise_validation(case):
    """What is accepted, which field is wrong, and what is filled in."""
    given, expect = case["given"], case["expect"]
    match given["function"]:
        case "tortoise_mutating_webhook_on_create":
            complete = with_defaults(tortoise(given["tortoise"]), containers(given["deployment"]))
            assert complete.to_dict()["spec"] == manifest({"spec": expect["tortoise_spec"]})["spec"]
        case "tortoise_validating_webhook_on_create":
            same_errors(tortoise(given["tortoise"]).problems(), expect)
        case "tortoise_validating_webhook_on_update":
            old, new = tortoise(given["old_tortoise"]), tortoise(given["new_tortoise"])
            new = with_defaults(new, containers(given["deployment"]))
            same_errors([*new.problems(), *update_problems(new, old)], expect)
        case "hpa_validating_webhook_on_delete":
            # hypot has no such webhook, so every deletion is accepted.
            assert expect["accepted"] is True
        case "validate_config":
            config = {} if given["config"] == "default" else given["config"]
            assert accepted(config) is expect["accepted"]
        case "parse_config":
            same_config(given, expect)
        case unknown:
            pytest.fail(f"unknown function {unknown}")


def manifest(value):
    """The wire form of a case: its keys in snake case become camel case."""
    if isinstance(value, dict):
        return {camel(key): manifest(inner) for key, inner in value.items() if inner is not None}
    return [manifest(item) for item in value] if isinstance(value, list) else value


def tortoise(written):
    """A Tortoise with the part of its status that rules read."""
    status = written.get("status") or {}
    kept = {key: status[key] for key in ("autoscaling_policy", "tortoise_phase", "targets") if key in status}
    return Tortoise.from_dict(manifest({**written, "status": kept}))


def containers(deployment):
    template = deployment["spec"]["template"]
    names = [container["name"] for container in template["spec"]["containers"]]
    injected = template["metadata"].get("annotations", {}).get(INJECTED) == "true"
    return [*names, SIDECAR] if injected else names


def same_errors(problems, expect):
    errors = [problem for problem in problems if problem.severity == "error"]
    assert expect["accepted"] is (not errors), [str(problem) for problem in errors]
    if errors:
        assert {problem.field for problem in errors} == {FIELDS[expect["error"]["kind"]]}


def setting(key):
    """The setting for a key of a case, or None if hypot has none."""
    return SETTINGS.get(re.sub(UNITS, "", key).replace("_", "").lower())


def accepted(config):
    try:
        TortoiseSettings.from_mapping(in_hypots_words(config))
    except InvalidTortoiseSettings:
        return False
    return True


def in_hypots_words(config):
    return {camel(f.name): manifest(value) for key, value in config.items() if (f := setting(key)) is not None}


def same_config(given, expect):
    """Every value that the original reads from the file, as hypot reads it."""
    if "file" not in given:
        pytest.skip("hypot's settings are a section of a file, not a file")
    read = TortoiseSettings.from_mapping(in_hypots_words(given["file"])).to_mapping()
    wanted = in_hypots_words(expect["config"])
    assert TortoiseSettings.from_mapping(wanted).to_mapping() == read

"""Hvpa manifests for tests: the proposal's, a released one, and helpers to make others."""

import copy
from functools import cache

import yaml

from hypot.kinds.hvpa import Hvpa

# The proposal's blocks, without the ellipses; misspelt keys are corrected.
BASE = """
    baseResourcesPerReplica:
      cpu:
        value: 50m
        percentage: 5
      memory:
        value: 200M
        percentage: 10
"""
INTERVALS = """
    scalingIntervals:
    - maxReplicas: 1
      maxResources:
        cpu: 500m
        memory: 2Gi
    - maxReplicas: 2
      maxResources:
        cpu: 1
        memory: 4Gi
    - maxReplicas: 3
      maxResources:
        cpu: 2
        memory: 8Gi
    - maxReplicas: 4
      maxResources:
        cpu: 4
        memory: 16Gi
    - maxReplicas: 5
      maxResources:
        cpu: 8
        memory: 32Gi
"""
OVERLAP = """
    scalingIntervalsOverlap:
      cpu:
        value: 250m
        percentage: 30
      memory:
        value: 1.5Gi
        percentage: 30
"""
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "kube-apiserver"}
HEAD = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "metadata": {"name": "kube-apiserver"}}

# As users of the released controller wrote them: weights, four blocks of scale parameters, metrics of v2beta1.
RELEASED = """
    replicas: 1
    maintenanceTimeWindow: {begin: 220000-0000, end: 230000-0000}
    hpa:
      deploy: true
      selector: {matchLabels: {role: hpa}}
      scaleUp: {updatePolicy: {updateMode: Auto}, stabilizationDuration: 2m}
      scaleDown: {updatePolicy: {updateMode: Auto}, stabilizationDuration: 3m}
      template:
        metadata: {labels: {role: hpa}, creationTimestamp: null}
        spec:
          maxReplicas: 10
          minReplicas: 1
          metrics:
          - type: Resource
            resource: {name: memory, targetAverageUtilization: 50}
          - type: Object
            object: {target: {kind: Service, name: web}, metricName: hits, targetValue: 2k}
    vpa:
      deploy: true
      selector: {matchExpressions: [{key: role, operator: In, values: [vpa]}]}
      scaleUp:
        updatePolicy: {updateMode: MaintenanceWindow}
        stabilizationDuration: 2m
        minChange: {cpu: {value: '3', percentage: 80}, memory: {value: 3M, percentage: 80}, replicas: {value: '1'}}
      scaleDown: {updatePolicy: {updateMode: 'Off'}, minChange: {cpu: {}, memory: {}, replicas: {}}}
      limitsRequestsGapScaleParams: {cpu: {value: '1', percentage: 40}, memory: {value: 1G, percentage: 40}}
      template:
        metadata: {labels: {role: vpa}}
        spec:
          resourcePolicy:
            containerPolicies:
            - {containerName: app, minAllowed: {memory: 400Mi}, maxAllowed: {memory: 3000Mi}}
    weightBasedScalingIntervals:
    - {vpaWeight: 0, startReplicaCount: 1, lastReplicaCount: 3}
    - {startReplicaCount: 4, lastReplicaCount: 4}
    - {vpaWeight: 100}
"""


# Hundreds of tests begin with the same few blocks.
read = cache(yaml.safe_load)


def manifest(*blocks, **spec):
    written = {key: value for block in blocks for key, value in copy.deepcopy(read(block)).items()}
    return {**copy.deepcopy(HEAD), "spec": {"targetRef": dict(TARGET), **written, **spec}}


def seed(**changes):
    """The proposal's last example, with fields added or replaced."""
    spec = manifest(BASE, INTERVALS, OVERLAP)["spec"]
    return {**copy.deepcopy(HEAD), "spec": {k: v for k, v in {**spec, **changes}.items() if v is not None}}


def at(path, value):
    """The proposal's last example with one value set; a number in the path is a list index."""
    made = seed()
    *steps, last = path
    here = made["spec"]
    for step in steps:
        here = here[step] if isinstance(step, int) else here.setdefault(step, {})
    here[last] = value
    return made


def sized(*rows, **spec):
    """Intervals from count, cpu and memory."""
    keys = ("maxReplicas", "cpu", "memory", "effectiveIntervalExtrapolation")
    intervals = []
    for row in rows:
        one = {key: value for key, value in zip(keys, row, strict=False) if value is not None}
        one["maxResources"] = {key: one.pop(key) for key in ("cpu", "memory") if key in one}
        intervals.append(one)
    return manifest(scalingIntervals=intervals, **spec)


def hpa(labels=None, **spec):
    template = {"spec": spec} if labels is None else {"metadata": {"labels": labels}, "spec": spec}
    return {"deploy": True, "template": template}


def vpa(*policies):
    return {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": list(policies)}}}}


def policy(name="*", low=None, high=None, **more):
    bounds = {"minAllowed": low, "maxAllowed": high}
    return {"containerName": name, **{key: value for key, value in bounds.items() if value}, **more}


def noted(**annotations):
    made = seed()
    made["metadata"]["annotations"] = {f"hypot.dev/{key}": text for key, text in annotations.items()}
    return made


def found(data, severity="error"):
    return [(p.rule, p.field) for p in Hvpa.from_dict(data).problems() if p.severity == severity]

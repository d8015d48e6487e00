"""The controller's defaults of an Hvpa, applied only on request."""

from typing import Any, TypeVar

from hypot.core.axes.interval import LINEAR
from hypot.kinds.hpa.defaults import with_defaults as with_hpa_defaults
from hypot.kinds.hvpa import hpa_of
from hypot.kinds.hvpa.fields import (
    AUTO,
    LEAST_CHANGE,
    Change,
    HPABlock,
    HPATemplate,
    HPATemplateSpec,
    HvpaSpec,
    MinChange,
    ScalePolicy,
    ScaleType,
    VPABlock,
    VPATemplate,
    VPATemplateSpec,
)
from hypot.kinds.hvpa.intervals import last_count
from hypot.kinds.node import replaced
from hypot.kinds.values.version import NEWEST, Version
from hypot.kinds.vpa import with_policy_defaults

H = TypeVar("H", bound=HvpaSpec)


def with_defaults(hvpa: H, kubernetes: Version = NEWEST) -> H:
    """The object with its defaults, for those parts that can be read."""
    hvpa = hvpa.readable()
    intervals = [
        replaced(one, max_replicas=last_count(hvpa, one), extrapolation=one.extrapolation or LINEAR)
        for one in hvpa.intervals or ()
    ]
    return replaced(
        hvpa,
        hpa=_hpa_block(hvpa, kubernetes),
        vpa=_vpa_block(hvpa),
        scale_up=_scale_type(hvpa.scale_up),
        scale_down=_scale_type(hvpa.scale_down),
        intervals=None if hvpa.intervals is None else tuple(intervals),
    )


def _hpa_block(hvpa: HvpaSpec, kubernetes: Version) -> HPABlock:
    block = hvpa.hpa or HPABlock(deploy=True)
    complete = with_hpa_defaults(hpa_of(hvpa), kubernetes)
    spec = replaced(
        hvpa.hpa_spec if hvpa.hpa_template is not None else HPATemplateSpec(),
        min_replicas=complete.min_replicas,
        max_replicas=complete.max_replicas,
        metrics=complete.metrics,
        behavior=complete.behavior,
    )
    template = replaced(block.template or HPATemplate(), spec=spec)
    return replaced(block, deploy=block.deploy is True, template=template)


def _vpa_block(hvpa: HvpaSpec) -> VPABlock:
    block = hvpa.vpa or VPABlock(deploy=True)
    policy = with_policy_defaults(hvpa.container_policies)
    if policy is None:
        return replaced(block, deploy=block.deploy is True)
    template = block.template or VPATemplate()
    spec = replaced(template.spec or VPATemplateSpec(), resource_policy=policy)
    return replaced(block, deploy=block.deploy is True, template=replaced(template, spec=spec))


def _scale_type(written: ScaleType | None) -> ScaleType:
    scale = written or ScaleType()
    policy = scale.update_policy or ScalePolicy()
    least: Any = scale.min_change or MinChange()
    missing = {name: Change(value=amount) for name, amount in LEAST_CHANGE.items() if getattr(least, name) is None}
    return replaced(
        scale,
        update_policy=policy if policy.mode else replaced(policy, mode=AUTO),
        min_change=replaced(least, **missing) if missing else least,
    )

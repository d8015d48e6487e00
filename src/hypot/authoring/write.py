"""Writes objects as YAML."""

from collections.abc import Mapping
from typing import Any

from hypot.kinds.base import Kind
from hypot.kinds.text.write import documents


def to_yaml(*objects: Kind | Mapping[str, Any]) -> str:
    """The manifests of these objects, in this order, for `kubectl apply -f -`.

    >>> print(to_yaml(VPA("deployment/web", mode="Off")).splitlines()[-1])
        updateMode: 'Off'
    """
    return documents(*[one.manifest() if isinstance(one, Kind) else one for one in objects])

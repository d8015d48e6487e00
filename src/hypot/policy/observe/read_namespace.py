"""The settings of Tortoises in the annotations of a namespace."""

from collections.abc import Mapping
from typing import Any

from hypot.kinds.tortoise.settings import PREFIX
from hypot.policy.observe.read_pods import inner


def settings_in(data: Mapping[str, Any]) -> dict[str, str]:
    written = inner(data, "metadata", "annotations")
    return {key: text for key, text in written.items() if key.startswith(PREFIX) and isinstance(text, str)}

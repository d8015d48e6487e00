"""The settings of Tortoises in the annotations of a namespace."""

from collections.abc import Mapping
from typing import Any

from hypot.kinds.tortoise.settings import PREFIX
from hypot.kinds.values.nested import inner


def settings_in(data: Mapping[str, Any]) -> dict[str, str]:
    """Those that can be read: keys and values that are text."""
    written: Mapping[Any, Any] = inner(data, "metadata", "annotations")
    texts = [(key, text) for key, text in written.items() if isinstance(key, str) and isinstance(text, str)]
    return {key: text for key, text in texts if key.startswith(PREFIX)}

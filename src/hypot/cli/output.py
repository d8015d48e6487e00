"""Machine-readable output as JSON, stable and safe to pipe. `hypot.kinds.text.write` writes YAML."""

import json
from typing import Any


def to_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

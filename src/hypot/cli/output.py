"""Machine-readable output: JSON and YAML, stable and safe to pipe."""

import json
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes every value in full: no anchors, block style, keys in the order given."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def to_yaml(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def to_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

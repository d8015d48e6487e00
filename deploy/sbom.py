"""Prints an SBOM (CycloneDX) of hypot and the Python packages of its image, from requirements.lock: `make sbom`.

The same lock gives the same text; SOURCE_DATE_EPOCH adds a time. A package has the hashes of all its files, of which
one is installed. Licences are what the packages say, if this environment has them in the version of the lock.
"""  # noqa: INP001

import json
import os
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any
from urllib.parse import quote

from lock import Pin, controller_roots, locked, normal, project

SPEC_VERSION = "1.6"
_LICENSE_CLASSIFIER = "License :: OSI Approved :: "


def bom(roots: Iterable[str], pins: list[Pin], epoch: str = "") -> dict[str, Any]:
    """The document; hypot needs the roots, and each package what the lock says."""
    about, named = project()["project"], set(map(normal, roots))
    name, version = str(about["name"]), str(about["version"])
    hypot = {
        "type": "application",
        **_identity(name, version),
        "description": about["description"],
        "licenses": [{"expression": about["license"]}],
    }
    content: dict[str, Any] = {
        "metadata": {**({"timestamp": _time(epoch)} if epoch else {}), "component": hypot},
        "components": [_component(pin) for pin in pins],
        "dependencies": [
            {"ref": _purl(name, version), "dependsOn": sorted(_ref(pin) for pin in pins if pin.name in named)},
            *({"ref": _ref(pin), "dependsOn": _needs(pin, pins)} for pin in pins),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": SPEC_VERSION, "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return {**head, **content}


def _time(epoch: str) -> str:
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _component(pin: Pin) -> dict[str, Any]:
    licences = licences_of(pin)
    return {
        "type": "library",
        **_identity(pin.name, pin.version),
        "hashes": [{"alg": "SHA-256", "content": each} for each in pin.hashes],
        **({"licenses": licences} if licences else {}),
    }


def _identity(name: str, version: str) -> dict[str, str]:
    purl = _purl(name, version)
    return {"bom-ref": purl, "name": name, "version": version, "purl": purl}


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{quote(name)}@{quote(version)}"


def _ref(pin: Pin) -> str:
    return _purl(pin.name, pin.version)


def _needs(pin: Pin, pins: list[Pin]) -> list[str]:
    return sorted(_ref(each) for each in pins if pin.name in each.needed_by)


def licences_of(pin: Pin) -> list[dict[str, Any]]:
    """An SPDX expression if the package has one, otherwise the names that it gives."""
    try:
        said = metadata(pin.name)
    except PackageNotFoundError:
        return []
    if said["Version"] != pin.version:
        return []
    if expression := said.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = said.get_all("Classifier") or []
    named = [each.removeprefix(_LICENSE_CLASSIFIER) for each in classifiers if each.startswith(_LICENSE_CLASSIFIER)]
    # The field may also be the whole text of a licence.
    field = (said.get("License") or "").strip()
    return [{"license": {"name": name}} for name in named or ([field] if field and "\n" not in field else [])]


def main() -> None:
    roots = controller_roots()
    made = bom(roots, locked(roots), os.environ.get("SOURCE_DATE_EPOCH", ""))
    sys.stdout.write(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()

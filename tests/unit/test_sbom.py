"""The SBOM has the packages of the image, what scanners read of each, and the same text for the same lock."""

import json
import re

import pytest
import sbom
from lock import Pin, controller_roots, locked, normal


@pytest.fixture(scope="module")
def document():
    return sbom.bom(controller_roots(), locked(controller_roots()))


HASH = re.compile("[0-9a-f]{64}")
REQUIRED = {
    "bomFormat": lambda value: value == "CycloneDX",
    "specVersion": lambda value: value == "1.6",
    "serialNumber": re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch,
    "version": lambda value: value == 1,
    "metadata": lambda value: value["component"]["purl"].startswith("pkg:pypi/hypot@"),
    "components": bool,
    "dependencies": bool,
}


@pytest.mark.parametrize("field", REQUIRED)
def test_a_field_of_the_document(document, field):
    assert REQUIRED[field](document[field])
    assert set(document) == set(REQUIRED)


def test_every_component_is_complete(document):
    """Type and name are required; purl, version, hashes and licences are what scanners read."""
    for each in document["components"]:
        assert each["type"] == "library"
        assert each["bom-ref"] == each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        assert each["hashes"]
        assert all(one["alg"] == "SHA-256" and HASH.fullmatch(one["content"]) for one in each["hashes"])
        for licence in each["licenses"]:
            assert list(licence) == ["expression"] or list(licence["license"]) == ["name"]
        assert len(each["licenses"]) == 1 or all("license" in one for one in each["licenses"])


def test_components_are_those_of_the_image(document):
    assert [each["name"] for each in document["components"]] == [pin.name for pin in locked(controller_roots())]


def test_the_graph_is_closed(document):
    """Every reference is a component, each component is needed, and hypot needs the packages of the group."""
    graph = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    hypot = document["metadata"]["component"]["bom-ref"]
    assert set(graph) == {hypot, *(each["bom-ref"] for each in document["components"])}
    assert {ref for needed in graph.values() for ref in needed} == set(graph) - {hypot}
    names = {ref.partition("/")[2].partition("@")[0] for ref in graph[hypot]}
    assert names == set(map(normal, controller_roots()))
    aiohttp = next(refs for ref, refs in graph.items() if ref.startswith("pkg:pypi/aiohttp@"))
    assert any(ref.startswith("pkg:pypi/yarl@") for ref in aiohttp)


def test_the_same_lock_gives_the_same_text(monkeypatch, capsys):
    """There is a time only if SOURCE_DATE_EPOCH gives one."""
    texts = []
    for epoch in ("", "", "1700000000"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        sbom.main()
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert "timestamp" not in texts[0]
    assert json.loads(texts[2])["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"


LICENCES = [
    ({"License-Expression": ["MIT"], "License": ["x"]}, [{"expression": "MIT"}]),
    ({"License": ["Apache 2.0"]}, [{"license": {"name": "Apache 2.0"}}]),
    ({"License": ["a whole\ntext"]}, []),
    (
        {"License": ["a whole\ntext"], "Classifier": ["License :: OSI Approved :: MIT License", "Typing :: Typed"]},
        [{"license": {"name": "MIT License"}}],
    ),
    ({"License-Expression": ["MIT"], "Version": ["2"]}, []),
    ({}, []),
]


@pytest.mark.parametrize(("said", "expected"), LICENCES)
def test_licences(monkeypatch, said, expected):
    """An expression, a name, a classifier; nothing of a licence text, or of another version."""
    about = {"Version": ["1"], **said}

    class Metadata:
        def get(self, name):
            return about.get(name, [None])[0]

        __getitem__ = get

        def get_all(self, name):
            return about.get(name)

    monkeypatch.setattr(sbom, "metadata", lambda _: Metadata())
    assert sbom.licences_of(Pin("a", "1", "", (), frozenset())) == expected


def test_a_package_that_is_not_installed_has_no_licence():
    assert sbom.licences_of(Pin("no-such-package", "1", "", (), frozenset())) == []

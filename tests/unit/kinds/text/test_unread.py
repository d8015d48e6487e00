"""What cannot be read does not keep the rest from being read, if the caller wants to hear of it."""

import gzip

import pytest

from hypot.kinds.text.load import InputLimits, LoadError, Reader, load

POD = "apiVersion: v1\nkind: Pod\n"
HPA = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"


def read(*names, **options):
    """The kinds and lines of the objects, and what was not read."""
    unread = []
    objects = list(Reader(unread=unread.append, **options).read(names))
    return [(one.data["kind"], one.source.line) for one in objects], unread


@pytest.mark.parametrize(
    ("text", "objects", "line", "kinds"),
    [
        (f"{POD}---\n{HPA}spec: [\n---\n{POD}", [("Pod", 1), ("Pod", 8)], 6, {"HorizontalPodAutoscaler"}),
        (f"{HPA}a: 1\na: 2\n---\n{POD}", [("Pod", 6)], 4, {"HorizontalPodAutoscaler"}),
        (f"a: !Ref b\n---\n{POD}", [("Pod", 3)], 1, set()),
        (f"{POD}---\n\ta\n--- # next\n{POD}", [("Pod", 1), ("Pod", 6)], 4, set()),
        (f"{POD}---\n{POD}---\n%\n", [("Pod", 1), ("Pod", 4)], 7, set()),
        (f'"kind": "Deployment"\nx: [\n---\n{POD}', [("Pod", 4)], 2, {"Deployment"}),
    ],
)
def test_the_documents_around_a_broken_one_are_read(put, text, objects, line, kinds):
    """With their lines; of the broken one, the kinds that it seems to hold are known."""
    found, [error] = read(put(text))
    assert found == objects
    assert (error.line, error.why, error.kinds) == (line, "broken", kinds)


@pytest.mark.parametrize(
    "text",
    [
        "name: chart\nversion: 1\n",
        "- a\n- b\n",
        "12\n",
        '{"dependencies": {}}',
        "apiVersion: v2\nname: chart\n",
        "kind: Deployment\nimage: {tag: v1}\n",
    ],
)
def test_files_for_other_programs(put, text):
    """They are no mistake."""
    found, [error] = read(put(text), put(POD, "pod.yaml"))
    assert found == [("Pod", 1)]
    assert error.why == "other"


@pytest.mark.parametrize(
    "text", ["kind: Deployment\nmetadata: {}\n", "apiVersion: 1\nkind: Deployment\n", "apiVersion:\nkind: Deployment"]
)
def test_an_object_without_a_version_is_incomplete(put, text):
    """It says what it is."""
    _, [error] = read(put(text))
    assert (error.why, error.kinds) == ("incomplete", {"Deployment"})


@pytest.mark.parametrize("raw", [b"\x93\xff{{ <% {% \x00", b"kind: Pod\0{{ .Values.x }}"])
def test_a_binary_file_is_no_template(put, raw):
    """Whatever bytes are in it: it says how to save a text."""
    found, [error] = read(put(raw))
    assert (found, error.why) == ([], "broken")
    assert "template" not in str(error)


def test_broken_items_of_a_list(put):
    """The other items are read."""
    items = "".join(
        f"- {text}\n"
        for text in ("{apiVersion: v1, kind: Pod}", "{kind: Pod, metadata: {}}", "3", "{apiVersion: v1, kind: Pod}")
    )
    found, errors = read(put(f"apiVersion: v1\nkind: List\nitems:\n{items}"))
    assert found == [("Pod", 4), ("Pod", 7)]
    assert [(error.line, error.why) for error in errors] == [(5, "incomplete"), (6, "other")]


@pytest.mark.parametrize(
    "text",
    [
        f"{HPA}metadata:\n  name: {{{{ .Values.name }}}}\n",
        f"{{{{- if .Values.hpa }}}}\n{HPA}{{{{- end }}}}\n",
        f'{HPA}metadata: {{name: "{{{{ name }}}}-web"}}\n',
        f"{HPA}spec:\n  maxReplicas: {{{{ max }}}}\n",
        f"{{% if x %}}\n{HPA}{{% endif %}}\n",
    ],
)
def test_templates_are_recognised(put, text):
    """By their marks, where they keep the text from being read or are in the name."""
    found, [error] = read(put(text))
    assert (found, error.why) == ([], "template")
    with pytest.raises(LoadError, match="this is a template; render it first"):
        list(load(["x.yaml"]))


def test_templates_of_a_chart_are_not_read_in_part(put):
    """A template may happen to be valid YAML; a file without marks is a manifest."""
    put("name: web\n", "web/Chart.yaml")
    put(f'{HPA}spec: {{maxReplicas: "{{{{ .Values.max }}}}"}}', "web/templates/deep/hpa.yaml")
    put(POD, "web/templates/pod.yaml")
    found, errors = read("web")
    assert found == [("Pod", 1)]
    assert [(error.file, error.why) for error in errors] == [
        ("web/Chart.yaml", "other"),
        ("web/templates/deep/hpa.yaml", "template"),
    ]


def test_marks_in_values_are_no_template(put):
    """Alerts, dashboards and the arguments of containers have them; and a broken dump stays a broken dump."""
    text = f"{POD}spec: {{args: ['--format={{{{ .Name }}}}']}}\n"
    assert read(put(text)) == ([("Pod", 1)], [])
    _, [error] = read(put("apiVersion: v1\nkind: List\nitems:\n- {a: '{{ x }}'}\n- {b: [\n"))
    assert error.why == "broken"


def test_files_that_cannot_be_read(put):
    """Text in another encoding, files that are too large, folders as files: the rest is read."""
    put(b"\xff\xfe\xff kind: Deployment\n", "latin.yaml")
    put("a: " + "b" * 100, "large.yaml")
    found, errors = read("latin.yaml", "large.yaml", put(POD), limits=InputLimits(file_bytes=50))
    assert found == [("Pod", 1)]
    assert [(error.file, error.why) for error in errors] == [("latin.yaml", "broken"), ("large.yaml", "unreadable")]


def test_packed_files(put):
    """A dump may be packed; what it unpacks to is limited too."""
    put(gzip.compress(f"{POD}---\n{POD}".encode()), "dump.yaml.gz")
    assert read("dump.yaml.gz") == ([("Pod", 1), ("Pod", 4)], [])
    put(gzip.compress(b"a" * 10_000), "bomb.yaml.gz")
    put(gzip.compress(b"a" * 10_000)[:-12], "cut.yaml.gz")
    put(b"\x1f\x8bno", "no.yaml.gz")
    _, errors = read("bomb.yaml.gz", "cut.yaml.gz", "no.yaml.gz", limits=InputLimits(file_bytes=5_000))
    assert "larger than 5,000 bytes" in errors[0].message
    _, errors = read("cut.yaml.gz", "no.yaml.gz")
    assert ["gzip" in error.message for error in errors] == [True, True]

"""What the tests of reading share."""

import pytest


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Writes a file into an empty working directory and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="x.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write

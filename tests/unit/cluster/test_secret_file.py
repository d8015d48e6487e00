"""Secrets for libraries that read files only."""

import os
import tempfile
from pathlib import Path

import pytest

from hypot.cluster.secret_file import secret_file


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_secret_leaves_nothing_behind(in_memory, monkeypatch, tmp_path):
    """Without files in memory, a file that only we can read exists for a moment."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create")
    with secret_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()] == ([] if in_memory else [0o600])
    assert list(tmp_path.iterdir()) == []

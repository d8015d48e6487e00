"""The certificate of a listener."""

import os
import time
from pathlib import Path

import pytest

from hypot.serving import certificate_holder as module
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue


@pytest.mark.parametrize("in_memory", [True, False])
def test_the_key_leaves_nothing_behind(in_memory, monkeypatch, tmp_path):
    """Without files in memory, a file that only we can read exists for a moment."""
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create")
    with module._readable(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()] == ([] if in_memory else [0o600])
    assert list(tmp_path.iterdir()) == []
    assert CertificateHolder(issue(["localhost"], time.time())).issued.cert_pem

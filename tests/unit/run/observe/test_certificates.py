"""TLS files that objects name."""

import os
import ssl

import pytest
import trustme

from hypot.kinds.wpa.fields import TLSConfig
from hypot.run.observe.certificates import CertificateError, Certificates


@pytest.fixture
def folder(tmp_path):
    """A mounted directory with an authority, things that must not be opened, and a secret beside it."""
    made = tmp_path / "mounted"
    made.mkdir()
    trustme.CA().cert_pem.write_to_path(made / "ca.pem")
    (tmp_path / "secret.pem").write_text("not for tenants")
    (made / "out.pem").symlink_to(tmp_path / "secret.pem")
    (made / "in.pem").symlink_to(made / "ca.pem")
    (made / "folder").mkdir()
    (made / "empty.pem").write_text("")
    (made / "large.pem").write_bytes(b"x" * (1 << 20) + b"y")
    os.mkfifo(made / "pipe")
    return made


@pytest.mark.parametrize("name", ["ca.pem", "in.pem", "folder/../ca.pem"])
def test_a_regular_file_of_the_folder(folder, name):
    """Links within the folder are how Kubernetes mounts Secrets."""
    context = Certificates(str(folder)).context(TLSConfig(ca_file=name))
    assert context.verify_mode is ssl.CERT_REQUIRED


OTHER_FILES = ["../secret.pem", "out.pem", "/dev/zero", "/etc/passwd", "pipe", "folder", "large.pem", "none.pem"]


@pytest.mark.parametrize("name", [*OTHER_FILES, "a\0b", "x" * 5000])
def test_nothing_else_is_opened(folder, name):
    """Neither what is outside nor what is not a plain file; a pipe would never answer."""
    with pytest.raises(CertificateError):
        Certificates(str(folder)).context(TLSConfig(ca_file=name))


def test_a_file_without_a_certificate(folder):
    """It is never a reason to skip verification."""
    with pytest.raises(CertificateError, match="no certificate"):
        Certificates(str(folder)).context(TLSConfig(ca_file="empty.pem"))


def test_without_a_folder_no_file_is_read(folder):
    """The message says what the administrator can do."""
    with pytest.raises(CertificateError, match="recommenderFiles"):
        Certificates().context(TLSConfig(ca_file=str(folder / "ca.pem")))


def test_skipping_verification_needs_the_administrator():
    """An object alone cannot weaken TLS."""
    with pytest.raises(CertificateError, match="recommenderInsecure"):
        Certificates().context(TLSConfig(insecure_skip_verify=True))
    assert Certificates(insecure=True).context(TLSConfig(insecure_skip_verify=True)).verify_mode is ssl.CERT_NONE


SAME = [TLSConfig(), TLSConfig(server_name="a.example"), TLSConfig(min_version="TLS10"), TLSConfig(max_version="odd")]
OTHER = [TLSConfig(min_version="TLS13"), TLSConfig(max_version="TLS12"), TLSConfig(insecure_skip_verify=True)]


@pytest.mark.parametrize("tls", SAME)
def test_objects_share_a_context(tls):
    """Only what it uses makes another one: it takes long to make."""
    certificates = Certificates()
    assert certificates.context(tls) is certificates.context(None)


@pytest.mark.parametrize("tls", OTHER)
def test_settings_that_need_another_context(tls):
    """Nobody gets the weaker settings of somebody else."""
    certificates = Certificates(insecure=True)
    assert certificates.context(tls) is not certificates.context(None)
    assert certificates.context(None).verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("name", ["x" * 254, "b\u00fccher.example", "\u0300\u0323" * 125_000])
def test_a_server_name_that_is_not_used(name):
    """The TLS library takes very long to normalise some of them."""
    with pytest.raises(CertificateError, match="serverName is not ASCII, or longer than 253"):
        Certificates().context(TLSConfig(server_name=name))

"""Certificates of the webhook: issued, read again, and renewed."""

import base64
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from hypot.serving import certificates
from hypot.serving.certificates import AUTHORITY_DAYS, due, issue, names_of, read, read_authority

NOW = 1_800_000_000.0
HOUR, DAY = 3600.0, 86_400.0
NAMES = names_of("hypot-webhook", "hypot-system")


def loaded(pem):
    return x509.load_pem_x509_certificates(pem.encode())


def changed(issued, key, text):
    """The data of a Secret with one entry replaced."""
    return {**issued.to_secret(), key: base64.b64encode(text.encode()).decode()}


class TestIssue:
    """What is issued."""

    def test_a_webhook_outside_of_the_cluster_has_one_name(self):
        """A Service has no dot in its name, so this is the address of the webhook."""
        assert names_of("127.0.0.1", "hypot-system") == ("127.0.0.1",)
        assert names_of("hooks.example.com", "hypot-system") == ("hooks.example.com",)

    def test_the_certificate_serves_the_names_of_the_service(self):
        """The API server connects to <service>.<namespace>.svc, and needs a server certificate."""
        certificate = loaded(issue(NAMES, NOW).cert_pem)[0]
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert names.get_values_for_type(x509.DNSName) == [
            "hypot-webhook.hypot-system.svc",
            "hypot-webhook.hypot-system.svc.cluster.local",
            "hypot-webhook.hypot-system",
        ]
        assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]

    def test_it_is_valid_from_an_hour_ago_for_its_lifetime(self):
        """A clock that is a little behind still accepts it."""
        issued = issue(NAMES, NOW, lifetime_days=90)
        assert (issued.not_before, issued.not_after) == (NOW - HOUR, NOW + 90 * DAY)

    def test_the_authority_is_valid_for_ten_years_and_signed_it(self):
        """So that the bundle that the API server trusts seldom changes."""
        issued = issue(NAMES, NOW)
        authority = loaded(issued.ca_pem)[0]
        loaded(issued.cert_pem)[0].verify_directly_issued_by(authority)
        assert authority.not_valid_after_utc.timestamp() == NOW + AUTHORITY_DAYS * DAY

    def test_a_renewal_keeps_the_authority(self):
        """The API server needs no new bundle."""
        first = issue(NAMES, NOW)
        second = issue(NAMES, NOW + 60 * DAY, authority=first.authority)
        assert second.ca_pem == first.ca_pem
        assert second.cert_pem != first.cert_pem

    def test_an_authority_near_its_end_is_replaced_and_still_trusted(self):
        """Certificates that it signed are in use until every replica has a new one."""
        first = issue(NAMES, NOW)
        later = NOW + (AUTHORITY_DAYS - 30) * DAY
        second = issue(NAMES, later, authority=first.authority)
        new, *former = loaded(second.ca_pem)
        loaded(second.cert_pem)[0].verify_directly_issued_by(new)
        assert former == loaded(first.ca_pem)
        third = issue(NAMES, later + (AUTHORITY_DAYS - 30) * DAY, authority=second.authority)
        assert loaded(third.ca_pem)[1:] == [new]

    def test_keys_are_never_shown(self):
        """A value that is logged by mistake reveals no key."""
        issued = issue(NAMES, NOW)
        assert "PRIVATE" not in f"{issued!r} {issued.authority!r}"

    def test_due_with_a_third_of_its_life_left(self):
        """Then weeks are left to find out why it is not renewed."""
        issued = issue(NAMES, NOW, lifetime_days=90)
        third = (issued.not_after - issued.not_before) / 3
        assert [due(issued, issued.not_after - third + late) for late in (-1, 0, 1)] == [False, True, True]


class TestRead:
    """What is read from a Secret."""

    def test_what_was_written_is_read(self):
        """All of it is read, including the key of the authority."""
        issued = issue(NAMES, NOW)
        assert read(issued.to_secret(), NAMES, NOW) == issued

    def test_addresses_are_names_too(self):
        """The API server may reach a webhook without a Service."""
        issued = issue(["127.0.0.1"], NOW)
        assert read(issued.to_secret(), ["127.0.0.1"], NOW) == issued

    @pytest.mark.parametrize("key", ["tls.crt", "tls.key", "ca.crt", "ca.key"])
    @pytest.mark.parametrize("text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    def test_none_where_a_part_cannot_be_read(self, key, text):
        """A new certificate is issued instead."""
        assert read(changed(issue(NAMES, NOW), key, text), NAMES, NOW) is None

    @pytest.mark.parametrize("part", ["cert_pem", "key_pem", "ca_pem", "ca_key_pem"])
    def test_none_where_parts_do_not_belong_together(self, part):
        """A certificate with another key would break every handshake."""
        one, other = issue(NAMES, NOW), issue(NAMES, NOW)
        assert read(replace(one, **{part: getattr(other, part)}).to_secret(), NAMES, NOW) is None

    @pytest.mark.parametrize("data", [{}, {"tls.crt": "%%%"}, {"tls.crt": 7, "ca.crt": None}])
    def test_none_from_other_secrets(self, data):
        """Any content is possible."""
        assert read(data, NAMES, NOW) is None
        assert read_authority(data, NOW) is None

    @pytest.mark.parametrize("at", [NOW - 2 * HOUR, NOW + 90 * DAY])
    def test_none_outside_of_its_time(self, at):
        """That is before it begins, and from its end on."""
        assert read(issue(NAMES, NOW).to_secret(), NAMES, at) is None

    def test_none_for_other_names(self):
        """The Service was renamed; the authority is still valid."""
        data = issue(NAMES, NOW).to_secret()
        assert read(data, names_of("other", "hypot-system"), NOW) is None
        assert read_authority(data, NOW) is not None


def test_a_key_of_another_kind_is_not_taken():
    """Only keys of the kind that is issued here are read, so that nothing unexpected is served."""
    with pytest.raises((TypeError, ValueError)):
        certificates._private("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n")

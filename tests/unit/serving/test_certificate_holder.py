"""The certificate of a listener."""

import time

from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue


def test_a_new_certificate_is_served():
    """The same certificate is not loaded again."""
    first, second = (issue(["localhost"], time.time()) for _ in range(2))
    holder = CertificateHolder(first)
    assert [holder.take(each) for each in (first, second, second)] == [False, True, False]
    assert holder.issued is second

"""Which addresses hypot calls because an object names them. Everybody who may edit a namespace can write such objects.

Services of the cluster are allowed, other hosts only if the administrator lists them. Addresses of the pod itself, of
the API server and of cloud metadata are refused even for an allowed name: every lookup is checked. An entry with a
port, such as `localhost:8088`, allows exactly that, whatever its address.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from hypot.cluster.addresses import IpAddress, inside, own_or_metadata
from hypot.kinds.values.names import dns_subdomain

DEFAULT_PORTS = {"http": 80, "https": 443}
API_SERVER = ("kubernetes", "default")


class HostRule(NamedTuple):
    """An entry of the administrator's list: a host, `*.` with a domain, or a network; and a port, or none for any."""

    host: str
    network: IPv4Network | IPv6Network | None
    port: int | None

    def fits(self, host: str, port: int) -> bool:
        if self.port is not None and port != self.port:
            return False
        if self.network is not None:
            address = _address(host)
            return address is not None and address.version == self.network.version and address in self.network
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return host == self.host


def read_rule(text: str) -> HostRule:
    """Raises ValueError if this is not a host, a domain, an address or a network."""
    network = _network(text)
    if network is not None:
        return HostRule("", network, None)
    parts = urlsplit(f"//{text}")
    host = _plain(parts.hostname or "")
    network = _network(host)
    is_host = network is not None or not any(dns_subdomain(host.removeprefix("*.")))
    if not is_host or parts.path or parts.query or parts.fragment or parts.username:
        raise ValueError(f"{text!r} is not a host, a domain such as *.example.org, or a network")
    return HostRule(host, network, parts.port)


class AllowedAddresses:
    """The rules for addresses that objects name."""

    def __init__(self, listed: Iterable[str] = (), domain: str = "cluster.local", own: Iterable[str] = ()) -> None:
        self._rules = tuple([read_rule(text) for text in listed])
        self._services = (".svc", f".svc.{domain}")
        # The hosts of the API server: names, and addresses as far as they are known.
        self._own = frozenset(each for host in own if host for each in _forms(_plain(host)))

    def fault(self, url: str) -> str:
        """Why this address may not be called, as text; empty if it may."""
        parts = urlsplit(url)
        if parts.scheme not in DEFAULT_PORTS:
            return "its scheme is neither http nor https"
        host, port = _plain(parts.hostname or ""), parts.port or DEFAULT_PORTS[parts.scheme]
        if self._is_exact(host, port):
            return ""
        if host in self._own or self._names_api_server(host):
            return "it is the API server"
        address = _address(host)
        if address is not None and (why := self._refused(address)):
            return why
        if self._is_service(host) or any(rule.fits(host, port) for rule in self._rules):
            return ""
        return "it is neither a Service of the cluster (NAME.NAMESPACE.svc) nor in recommenderHosts"

    def fault_of(self, host: str, port: int, address: str) -> str:
        """The same for an address that a name was resolved to."""
        if self._is_exact(_plain(host), port):
            return ""
        found = _address(address)
        return "its address cannot be read" if found is None else self._refused(found)

    def _is_exact(self, host: str, port: int) -> bool:
        return any(rule.port is not None and rule.fits(host, port) for rule in self._rules)

    def _is_service(self, host: str) -> bool:
        return any(host.endswith(end) and host.removesuffix(end).count(".") == 1 for end in self._services)

    def _names_api_server(self, host: str) -> bool:
        return tuple(host.split(".")[:2]) == API_SERVER

    def _refused(self, address: IpAddress) -> str:
        return next(filter(None, map(self._refused_alone, [address, *inside(address)])), "")

    def _refused_alone(self, address: IpAddress) -> str:
        if str(address) in self._own:
            return "it is the API server"
        return own_or_metadata(address)


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")


def _address(host: str) -> IpAddress | None:
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _forms(host: str) -> list[str]:
    """A name as it is, or an address and those inside it, each in its usual form."""
    address = _address(host)
    return [host] if address is None else [str(each) for each in (address, *inside(address))]


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None

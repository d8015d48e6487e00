"""Addresses that no tenant may make hypot call: those of the machine itself, and of metadata services."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Metadata services whose addresses are not link-local: AWS and Google (IPv6), Alibaba, Oracle and Azure.
METADATA = frozenset(
    map(
        ip_address,
        ("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
    ),
)
# Linux takes 0.0.0.0 for the host itself.
THIS_HOST = ip_network("0.0.0.0/8")
# IPv6 addresses that end with an IPv4 address: IPv4-compatible, mapped, SIIT, and NAT64 (well-known and local).
ENDING = tuple(map(ip_network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")))
IpAddress = IPv4Address | IPv6Address


def own_or_metadata(address: IpAddress) -> str:
    """Why this address is never called, as text; empty if it may be. What is inside an address counts on its own."""
    if address in METADATA or address.is_link_local:
        return "its address is link-local or of a metadata service"
    if address.is_loopback or address in THIS_HOST or address.is_unspecified or address.is_multicast:
        return "its address is loopback, unspecified or multicast"
    return ""


def inside(address: IpAddress) -> Iterator[IPv4Address]:
    """The IPv4 addresses inside an IPv6 address, to which a router may translate it."""
    if isinstance(address, IPv4Address):
        return
    if any(address in network for network in ENDING):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.sixtofour:
        yield address.sixtofour
    yield from address.teredo or ()

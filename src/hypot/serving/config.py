"""What the configurations of all servers share: their settings are the fields of a frozen dataclass.

Each field says why it is there and has a JSON Schema; reading, checking and the schema of the file follow from that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from ipaddress import ip_address
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from hypot.cluster.config import in_pod
from hypot.kinds.values.names import wire_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DEFAULT_NAMESPACE = "hypot-system"
# The same rule as `dns_label`, for tools that validate against the schema.
LABEL_SCHEMA = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
LISTEN_SCHEMA = {
    "type": "string",
    "pattern": rf"^$|^localhost$|^({_BYTE}\.){{3}}{_BYTE}$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$",
}
ALL_ADDRESSES, LOOPBACK = "0.0.0.0", "127.0.0.1"  # noqa: S104
# Checks the value of the setting with this name, and returns it as it is kept. Raises ConfigError.
Checked = Callable[[str, Any], Any]
_C = TypeVar("_C", bound="DataclassInstance")
# How the address of a Prometheus begins.
ADDRESSES = ("http://", "https://")
_TYPES = {"string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float)}


def installed_name(name: str, namespace: str) -> str:
    """The name of a component's objects outside of any namespace: each installation has its own."""
    return name if namespace == DEFAULT_NAMESPACE else f"{name}-{namespace}"


class ConfigError(ValueError):
    """A configuration that cannot be used, with every problem in it and what to write instead."""

    def __init__(self, *problems: str, names: Iterable[str] = ()) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        # The settings that must change; the others are valid.
        self.names = frozenset(names)

    @classmethod
    def of(cls, several: Sequence[Self]) -> Self:
        """All errors in one, so that a user can fix a file in one go."""
        return cls(
            *(message for each in several for message in each.problems),
            names=(name for each in several for name in each.names),
        )


def text(default: str, why: str, schema: Mapping[str, Any] | None = None) -> str:
    described: str = field(default=default, metadata={"why": why, "schema": schema or {"type": "string"}})
    return described


def switch(default: bool, why: str) -> bool:
    described: bool = field(default=default, metadata={"why": why, "schema": {"type": "boolean"}})
    return described


def port(default: int, why: str) -> int:
    schema = {"type": "integer", "minimum": 0, "maximum": 65535}
    described: int = field(default=default, metadata={"why": why, "schema": schema})
    return described


def seconds(default: float, why: str, least: float, most: float) -> float:
    schema = {"type": "number", "minimum": least, "maximum": most}
    described: float = field(default=default, metadata={"why": why, "schema": schema})
    return described


def texts(why: str, schema: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    items = schema or {"type": "string", "minLength": 1}
    described: tuple[str, ...] = field(default=(), metadata={"why": why, "schema": {"type": "array", "items": items}})
    return described


def listen(what: str) -> str:
    """The address of a server: probes, the API server and Prometheus must reach a pod, and nobody else a laptop."""
    return text("", f"The address of {what}; empty: {ALL_ADDRESSES} in a pod, and {LOOPBACK} elsewhere.", LISTEN_SCHEMA)


def host_of(listen: str) -> str:
    """The address to listen on."""
    return listen or (ALL_ADDRESSES if in_pod() else LOOPBACK)


def metrics_auth() -> bool:
    return switch(
        default=False,
        why="Serve /metrics over TLS, and only to accounts that may get the nonResourceURL /metrics.",
    )


def monitoring_namespace() -> str:
    why = "The namespace of Prometheus: the NetworkPolicy lets only its pods reach metricsPort."
    return text("monitoring", why, LABEL_SCHEMA)


def prometheus_address(why: str) -> str:
    """The address of the one Prometheus that a server asks."""
    return text("", why, {"type": "string", "pattern": f"^$|^({'|'.join(ADDRESSES)})"})


def prometheus_token_file() -> str:
    return text("", "The file with the token for that Prometheus, if it needs one.")


def prometheus_ca_file() -> str:
    return text(
        "", "The file with the CA certificates (PEM) of that Prometheus; empty: the authorities of the system count."
    )


def wrong_prometheus(address: str, token_file: str, ca_file: str) -> Iterator[ConfigError]:
    """What is wrong with the address of a Prometheus, or would be sent to it without TLS."""
    names = ("prometheus", "prometheusTokenFile", "prometheusCaFile")
    for setting, file in zip(names[1:], (token_file, ca_file), strict=True):
        if file and not address:
            yield ConfigError(f"{setting}: it belongs to prometheus, which is not set", names=(setting,))
    if not address:
        return
    if not address.startswith(ADDRESSES):
        message = f"{address!r} is not an address; it must begin with http:// or https://"
        yield ConfigError(f"prometheus: {message}", names=("prometheus",))
    elif address.startswith("http://"):
        todo = "write an https:// address in prometheus"
        if token_file:
            message = f"prometheusTokenFile: a token is not sent without TLS; {todo}, or no token file"
            yield ConfigError(message, names=names[:2])
        if ca_file:
            message = f"prometheusCaFile: without TLS nothing is verified; {todo}, or no CA file"
            yield ConfigError(message, names=(names[0], names[2]))
        if urlsplit(address).username is not None:
            yield ConfigError(f"prometheus: a password is not sent without TLS; {todo}", names=names[:1])


def plain_value(of: type, name: str, value: Any) -> Any:
    """The value of a setting, checked against its schema. Raises ConfigError."""
    declared: dict[str, Any] = {wire_name(f.name): f.metadata["schema"] for f in fields(of)}[name]
    if declared["type"] == "array":
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise ConfigError(f"{name}: write a list of names")
        return tuple(value)
    if type(value) not in _TYPES[declared["type"]]:
        raise ConfigError(f"{name}: {value!r} is not of type {declared['type']}")
    least, most = declared.get("minimum"), declared.get("maximum")
    if least is not None and not least <= value <= most:
        what = "is not a port" if declared["type"] == "integer" else f"is not within {least:g} to {most:g} seconds"
        raise ConfigError(f"{name}: {value} {what}")
    return value


def configured(of: type[_C], data: Mapping[str, Any], checked: Checked, ports: frozenset[str]) -> _C:
    """The configuration from a mapping of names to values; unknown names are refused, and all problems are reported."""
    names = {wire_name(f.name): f.name for f in fields(of)}
    values: dict[str, Any] = {}
    found: list[ConfigError] = []
    for name, value in data.items():
        try:
            values[names[name]] = checked(name, value)
        except KeyError:
            found.append(ConfigError(f"{name}: no such setting; known settings: {', '.join(names)}", names=(name,)))
        except ConfigError as error:
            # The default of one port must not conflict with the value that is given for the other.
            found.append(ConfigError(*error.problems, names=ports if name in ports else (name,)))
    if any(ports & error.names for error in found):
        values = {name: value for name, value in values.items() if wire_name(name) not in ports}
    try:
        made = of(**values)
    except ConfigError as error:
        found.append(error)
    if found:
        raise ConfigError.of(found)
    return made


def wrong_listen(address: str) -> Iterator[ConfigError]:
    if address not in {"", "localhost"} and not is_ip(address):
        message = f"{address!r} is not an IP address; write {ALL_ADDRESSES}, or :: for IPv6 as well"
        yield ConfigError(f"listen: {message}", names=("listen",))


def shared_ports(given: Mapping[str, int]) -> Iterator[ConfigError]:
    """Ports that two servers would share. Port 0 means any free port, or none."""
    for first, second in combinations(given, 2):
        if given[first] and given[first] == given[second]:
            message = f"{given[second]} is the {first} too; two servers cannot listen on one port, write another port"
            yield ConfigError(f"{second}: {message}", names=given)


def is_ip(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True


def properties_of(of: type) -> dict[str, Any]:
    """The JSON Schema of each setting."""
    return {wire_name(f.name): {"description": f.metadata["why"], **f.metadata["schema"]} for f in fields(of)}


def schema_of(title: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }

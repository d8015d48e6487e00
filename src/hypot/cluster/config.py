"""How to reach a cluster: from a kubeconfig, or from the service account of the pod that hypot runs in."""

import base64
import binascii
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from hypot.kinds.text.yamltext import Fault, documents

LARGEST_KUBECONFIG = 8 * 2**20
# Nesting of mappings, and values that aliases repeat. A kubeconfig has few of either.
DEEPEST = 100
LARGEST_ALIASED = 10_000
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

# A certificate or a key: its text, or the file that contains it.
Pem = bytes | Path


_ANOTHER: Final = "name another kubeconfig with KUBECONFIG, or make one with the tool of your cluster"


class AccessError(Exception):
    """The access settings are invalid. The message says where and what to do, and never contains a secret.

    >>> try:
    ...     live("hpa", "web", kubeconfig="no-such-file")
    ... except AccessError as error:
    ...     print(error)
    no-such-file: cannot be read: No such file or directory; check the path of the kubeconfig
    """


@dataclass(frozen=True, slots=True)
class Plugin:
    """A command that provides credentials, as in `users[].user.exec`."""

    version: str
    command: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    # What to install if the command is missing.
    hint: str = ""
    # The cluster information that is passed to the command, if it asks for it.
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """The address of the server, how to verify it, and our credentials; `source` is for messages."""

    server: str
    ca: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    plugin: Plugin | None = None
    tls_server_name: str = ""
    insecure: bool = False
    namespace: str = "default"
    source: str = "as given"

    def __post_init__(self) -> None:
        """Reject what would fail later, or would send a secret unencrypted."""
        parts = urlsplit(self.server)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise AccessError(f"{self.source}: server is not an address; write https://HOST:PORT")
        if self.insecure and self.ca is not None:
            raise AccessError(
                f"{self.source}: both insecure-skip-tls-verify and a certificate authority are set; remove one of them"
            )
        if (self.certificate is None) != (self.key is None):
            raise AccessError(
                f"{self.source}: a client certificate and its key are both needed; one of them is missing"
            )
        if parts.scheme == "http" and (self.token or self.token_file or self.plugin):
            raise AccessError(f"{self.source}: a token is not sent without TLS; write an https address as the server")


@dataclass(frozen=True, slots=True)
class _ConfigEntry:
    """A named part of a kubeconfig, and the file that contains it."""

    data: Mapping[str, Any]
    file: Path
    label: str

    def text(self, name: str) -> str:
        value = self.data.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise AccessError(f"{self}: {name} is not text; write it in quotes")
        return value

    def flag(self, name: str) -> bool:
        value = self.data.get(name)
        if value is not None and not isinstance(value, bool):
            raise AccessError(f"{self}: {name} is neither true nor false")
        return bool(value)

    def path(self, name: str) -> Path | None:
        """A file path, relative to the kubeconfig."""
        text = self.text(name)
        return self.file.parent / text if text else None

    def pem(self, name: str) -> Pem | None:
        """The inline data if present, else the file."""
        data = self.text(f"{name}-data")
        if not data:
            return self.path(name)
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise AccessError(f"{self}: {name}-data is not base64") from error

    def refuse(self, name: str, instead: str) -> None:
        if self.data.get(name):
            raise AccessError(f"{self}: {name} is not supported; {instead}")

    def __str__(self) -> str:
        return f"{self.file}, {self.label}"


def in_pod() -> bool:
    """Whether this process runs in a pod: the kubelet tells every container where the API server is."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def read_access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """The access settings in kubectl's order: the given file, $KUBECONFIG, the pod's service account, ~/.kube/config.

    A service account has no contexts, so a given context always means a kubeconfig.
    """
    if kubeconfig:
        return _from_files([Path(kubeconfig)], context, needed=True)
    if named := [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]:
        return _from_files(named, context)
    if not context and in_pod() and (SERVICE_ACCOUNT / "token").exists():
        return _from_service_account(os.environ)
    return _from_files([Path("~/.kube/config").expanduser()], context)


def _from_service_account(environment: Mapping[str, str]) -> Access:
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT", "443")
    ca, namespace = SERVICE_ACCOUNT / "ca.crt", SERVICE_ACCOUNT / "namespace"
    try:
        own = namespace.read_text(encoding="utf-8").strip() if namespace.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise AccessError(f"{namespace}: cannot be read: {error}") from error
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        ca=ca if ca.exists() else None,
        token_file=SERVICE_ACCOUNT / "token",
        namespace=own or "default",
        source=f"service account in {SERVICE_ACCOUNT}",
    )


def _from_files(files: list[Path], context: str | None, *, needed: bool = False) -> Access:
    present = files if needed else [file for file in files if file.exists()]
    if not present:
        raise AccessError(
            f"{', '.join(map(str, files))}: no such file, and no service account; set KUBECONFIG, or name a kubeconfig"
        )
    whole = _Kubeconfig([(file, _parsed(file)) for file in present])
    return whole.access(context)


def _parsed(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST_KUBECONFIG + 1)
    except OSError as error:
        raise AccessError(f"{file}: cannot be read: {error.strerror}; check the path of the kubeconfig") from error
    if len(text) > LARGEST_KUBECONFIG:
        raise AccessError(f"{file}: over {LARGEST_KUBECONFIG >> 20} MiB, which is not a kubeconfig")
    data = _decoded(file, text)
    if data is not None and not isinstance(data, Mapping):
        raise AccessError(f"{file}: not a kubeconfig; it must be a mapping with clusters, users and contexts")
    return data or {}


def _decoded(file: Path, text: bytes) -> Any:
    """The first document. Errors leave out their cause, which quotes the content: that may contain a secret."""
    try:
        content = text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AccessError(f"{file}: not UTF-8 text") from None
    try:
        first = next(documents(content, 0, depth=DEEPEST, aliased=LARGEST_ALIASED, take=lambda data, _: data), None)
    except Fault as fault:
        raise AccessError(f"{file}, line {content.count(chr(10), 0, fault.offset) + 1}: not valid YAML") from None
    return first.whole.data if first else None


class _Kubeconfig:
    """Several files as one. Of two entries with the same name, the first is used."""

    def __init__(self, files: Iterable[tuple[Path, Mapping[str, Any]]]) -> None:
        self._files = list(files)
        self._names = ", ".join(str(file) for file, _ in self._files)

    def access(self, wanted: str | None) -> Access:
        name = wanted or self._current()
        context = self._entry("context", name, self._contexts())
        cluster = self._entry("cluster", context.text("cluster"), f"context {name} names it")
        cluster.refuse("proxy-url", "reach the server without a proxy")
        source = f"{self._names}, context {name}"
        if not cluster.text("server"):
            raise AccessError(f"{source}: cluster {context.text('cluster')} has no server")
        user = self._user(context, name)
        token, token_file = user.text("token"), user.path("tokenFile")
        plugin = None if token or token_file else _plugin(user, cluster)
        return Access(
            server=cluster.text("server").rstrip("/"),
            ca=cluster.pem("certificate-authority"),
            certificate=user.pem("client-certificate"),
            key=user.pem("client-key"),
            token="" if token_file else token,
            token_file=token_file,
            plugin=plugin,
            tls_server_name=cluster.text("tls-server-name"),
            insecure=cluster.flag("insecure-skip-tls-verify"),
            namespace=context.text("namespace") or "default",
            source=source,
        )

    def _contexts(self) -> str:
        known = self._known("context")
        return f"the contexts are: {known}" if known else f"there are no contexts; {_ANOTHER}"

    def _user(self, context: _ConfigEntry, name: str) -> _ConfigEntry:
        """The user of a context, empty if it names none. Settings that would change the identity are rejected."""
        if not context.text("user"):
            return _ConfigEntry({}, context.file, context.label)
        user = self._entry("user", context.text("user"), f"context {name} names it")
        user.refuse("auth-provider", "use exec")
        user.refuse("username", "API servers no longer support passwords; use a token")
        user.refuse("as", "use the account itself")
        return user

    def _current(self) -> str:
        for file, data in self._files:
            if name := _ConfigEntry(data, file, "kubeconfig").text("current-context"):
                return name
        if not (known := self._known("context")):
            raise AccessError(f"{self._names}: no contexts; {_ANOTHER}")
        raise AccessError(f"{self._names}: no current-context; choose one of: {known}")

    def _known(self, part: str) -> str:
        return ", ".join(name for name, *_ in self._all(part))

    def _entry(self, part: str, name: str, what: str) -> _ConfigEntry:
        for each, data, file in self._all(part):
            if each == name:
                return _ConfigEntry(data, file, f"{part} {name}")
        raise AccessError(f"{self._names}: no {part} {name!r}; {what}")

    def _all(self, part: str) -> Iterable[tuple[str, Mapping[str, Any], Path]]:
        for file, data in self._files:
            listed = data.get(f"{part}s") or []
            if not isinstance(listed, list):
                raise AccessError(f"{file}: {part}s is not a list")
            for each in listed:
                if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
                    raise AccessError(f"{file}: an entry of {part}s has no name")
                inner = each.get(part) or {}
                if not isinstance(inner, Mapping):
                    raise AccessError(f"{file}: {part} {each['name']} is not a mapping")
                yield each["name"], inner, file


def _plugin(user: _ConfigEntry, cluster: _ConfigEntry) -> Plugin | None:
    data = user.data.get("exec")
    if not data:
        return None
    if not isinstance(data, Mapping):
        raise AccessError(f"{user}: exec is not a mapping")
    entry = _ConfigEntry(data, user.file, f"{user.label}, exec")
    version, command = entry.text("apiVersion"), entry.text("command")
    if version not in EXEC_VERSIONS:
        raise AccessError(f"{entry}: apiVersion {version!r} is not one of {', '.join(EXEC_VERSIONS)}")
    if not command:
        raise AccessError(f"{entry}: no command")
    if entry.text("interactiveMode") == "Always":
        raise AccessError(f"{entry}: interactiveMode Always needs user input; use a plugin that does not ask")
    return Plugin(
        version=version,
        # A bare name is looked up in PATH; a path with a slash is relative to the kubeconfig.
        command=str(entry.path("command")) if os.sep in command else command,
        arguments=tuple(_texts(entry, "args")),
        environment=_environment(entry),
        hint=entry.text("installHint"),
        cluster=_described(cluster) if entry.flag("provideClusterInfo") else None,
    )


def _texts(entry: _ConfigEntry, name: str) -> list[str]:
    values = entry.data.get(name) or []
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise AccessError(f"{entry}: {name} is not a list of strings")
    return values


def _environment(entry: _ConfigEntry) -> dict[str, str]:
    pairs = entry.data.get("env") or []
    if not isinstance(pairs, list) or not all(isinstance(each, Mapping) for each in pairs):
        raise AccessError(f"{entry}: env is not a list of names and values")
    named = [_ConfigEntry(each, entry.file, f"{entry.label}, env") for each in pairs]
    return {each.text("name"): each.text("value") for each in named}


def _described(cluster: _ConfigEntry) -> dict[str, Any]:
    """A cluster in the form of ExecCredential; a file becomes inline data."""
    ca = cluster.pem("certificate-authority")
    extensions = cluster.data.get("extensions") or []
    config = [
        each.get("extension")
        for each in (extensions if isinstance(extensions, list) else [])
        if isinstance(each, Mapping) and each.get("name") == "client.authentication.k8s.io/exec"
    ]
    reported = {
        "server": cluster.text("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(read_pem(ca, str(cluster))).decode() if ca else "",
        "config": json.loads(json.dumps(config[0], default=str)) if config else None,
    }
    return {name: value for name, value in reported.items() if value}


def read_pem(pem: Pem, source: str) -> bytes:
    if isinstance(pem, bytes):
        return pem
    try:
        return pem.read_bytes()
    except OSError as error:
        raise AccessError(f"{source}: {pem} cannot be read: {error.strerror}") from error

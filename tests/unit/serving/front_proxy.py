"""Certificates of clients as a cluster issues them, and the ConfigMap that says whose they are."""

import datetime as dt
import json
import ssl

import trustme

CLIENTS, PROXIES, STRANGERS = trustme.CA(), trustme.CA(), trustme.CA()
HEADERS = {
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


def trusted(names=("front-proxy-client",), clients=CLIENTS, proxies=PROXIES):
    """The data of the ConfigMap."""
    return {
        **HEADERS,
        "client-ca-file": clients.cert_pem.bytes().decode(),
        "requestheader-client-ca-file": proxies.cert_pem.bytes().decode(),
        "requestheader-allowed-names": json.dumps(list(names)),
    }


def config_map(**data):
    metadata = {"namespace": "kube-system", "name": "extension-apiserver-authentication"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {**trusted(), **data}}


def certificate(authority, name="front-proxy-client", group="", *, expired=False):
    day = dt.datetime.now(dt.UTC) - dt.timedelta(days=1 if expired else -30)
    return authority.issue_cert(
        common_name=name, organization_name=group or None, not_after=day, not_before=day - dt.timedelta(days=60)
    )


def presenting(server, leaf=None):
    """TLS of a client that trusts the server, and has this certificate."""
    context = ssl.create_default_context(cadata=server)
    context.check_hostname = False
    if leaf is not None:
        leaf.configure_cert(context)
    return context

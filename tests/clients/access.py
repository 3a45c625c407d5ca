"""How the suite's clients reach a secured cluster, by its address. Other clusters need nothing.

Programs of the suite inherit it through the environment, so that every client finds its settings where it
creates its connection.
"""

from __future__ import annotations

import json
import os
import ssl
from dataclasses import asdict
from typing import Any

from gralha.client.security import ClientSecurity
from tests.clients.driver import (
    Login,
    Tls,
    security_for_java,
    security_for_librdkafka,
    security_for_python,
)

VARIABLE = "GRALHA_TEST_ACCESS"


def remember(bootstrap: str, tls: Tls, login: Login) -> None:
    """From now on clients of this cluster, also those of programs that start later, log in through TLS."""
    known = json.loads(os.environ.get(VARIABLE, "{}"))
    known[bootstrap] = {"tls": asdict(tls), "login": login._asdict()}
    os.environ[VARIABLE] = json.dumps(known)


def of(bootstrap: str) -> tuple[Tls | None, Login | None]:
    """What clients of this cluster need."""
    found = json.loads(os.environ.get(VARIABLE, "{}")).get(bootstrap)
    return (None, None) if found is None else (Tls(**found["tls"]), Login(**found["login"]))


def librdkafka(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, **security_for_librdkafka(*of(bootstrap))}


def java(bootstrap: str) -> dict[str, str]:
    return {"bootstrap.servers": bootstrap, **security_for_java(*of(bootstrap))}


def python(bootstrap: str) -> dict[str, Any]:
    """For kafka-python and aiokafka."""
    tls, login = of(bootstrap)
    settings = {"bootstrap_servers": bootstrap, **security_for_python(tls, login)}
    return settings if tls is None else {**settings, "ssl_context": context(tls)}


def context(tls: Tls) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=tls.authority)
    made.load_cert_chain(tls.key)
    return made


def own_client(bootstrap: str) -> ClientSecurity:
    return ClientSecurity.from_kafka(security_for_java(*of(bootstrap)))


def arguments(tls: Tls | None, login: Login | None) -> list[str]:
    """The last argument of programs in other languages, if there is one."""
    if tls is None and login is None:
        return []
    security = {
        "tls": None if tls is None else asdict(tls),
        "login": None if login is None else login._asdict(),
        "java": security_for_java(tls, login),
    }
    return [json.dumps(security)]

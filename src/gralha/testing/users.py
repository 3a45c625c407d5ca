"""The users of a secured cluster, with their passwords and the files of TLS.

All files are in one folder that nobody else can read. A folder that exists keeps its users, so that its data
can be used again.
"""

import datetime
import json
import os
import secrets
from pathlib import Path
from typing import Final

from gralha.broker.offline import new_uuid
from gralha.protocol.primitives import uuid_to_string
from gralha.security.certificate_authority import CertificateAuthority
from gralha.security.client_access import MECHANISM, ClientAccess
from gralha.security.sasl.scram import ITERATIONS_MIN, ScramCredential, new_credential
from gralha.security.secured_node import ADMIN, NODE, secured_node

# The protocols by the values of `GralhaCluster(security=...)`.
PROTOCOLS: Final = {"ssl": "SSL", "sasl_plaintext": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
APP: Final = "app"
# The names of the topics, groups and transactional ids of the user `app` begin with this.
APP_PREFIX: Final = "app."
_HOSTS: Final = ("localhost", "127.0.0.1")
_PASSWORD_BYTES: Final = 18
_SALT_BYTES: Final = 16


class Users:
    """The users that may log in. `protocol` has Kafka's name."""

    def __init__(self, security: str, folder: Path) -> None:
        if security not in PROTOCOLS:
            allowed = ", ".join(repr(one) for one in PROTOCOLS)
            raise ValueError(f"security={security!r} is not possible: use {allowed} or None")
        self.protocol = PROTOCOLS[security]
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._passwords: dict[str, str] = {}
        self._file = folder / "users.json"
        self.is_new = not self._file.exists()
        self._authority = self._authority_of_the_folder() if self.uses_tls else None
        if self.is_new:
            for name in (NODE, ADMIN, APP):
                self.add(name)
        else:
            self._passwords = json.loads(self._file.read_text())

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_login(self) -> bool:
        return self.protocol != "SSL"

    def add(self, name: str, password: str | None = None) -> str:
        """Adds a user, or changes the password. Returns the password."""
        if not name.isprintable() or not name or any(one in '/\\"=,' for one in name):
            raise ValueError(f"{name!r} cannot be the name of a user: use letters, digits, '.', '_' and '-'")
        self._passwords[name] = secrets.token_urlsafe(_PASSWORD_BYTES) if password is None else password
        if not self.uses_login and self._authority is not None and name != NODE:
            write_private(self._key_file(name), self._authority.issue(name))
        write_private(self._file, json.dumps(self._passwords, indent=2))
        return self._passwords[name]

    def access(self, name: str, bootstrap: str) -> ClientAccess:
        """How a user reaches these brokers. Raises ValueError if there is no such user."""
        if name not in self._passwords:
            known = ", ".join(one for one in self._passwords if one != NODE)
            raise ValueError(f"there is no user {name!r}, only {known}: call add_user({name!r}) first")
        key_file = None if self.uses_login else self._key_file(name)
        password = self._passwords[name]
        return ClientAccess(bootstrap, self.protocol, name, password, self._authority_file, key_file)

    def node_settings(self) -> dict[str, str]:
        """The lines of server.properties, apart from the listeners."""
        key_file = self._key_file(NODE) if self.uses_tls else None
        return secured_node(self.protocol, self._passwords[NODE], key_file, self._authority_file)

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, which all its nodes are formatted with."""
        file = self._folder / "cluster.id"
        if not file.exists():
            write_private(file, uuid_to_string(new_uuid()))
        return file.read_text()

    def credentials(self) -> dict[str, ScramCredential]:
        """The users of SCRAM with which a cluster begins."""
        if not self.uses_login:
            return {}
        return {
            name: new_credential(MECHANISM, password, new_salt(), ITERATIONS_MIN)
            for name, password in self._passwords.items()
        }

    @property
    def _authority_file(self) -> Path | None:
        return self._folder / "ca.pem" if self.uses_tls else None

    def _key_file(self, name: str) -> Path:
        return self._folder / f"{name}.pem"

    def _authority_of_the_folder(self) -> CertificateAuthority:
        key_file = self._folder / "ca.key"
        now = datetime.datetime.now(datetime.UTC)
        if key_file.exists():
            return CertificateAuthority(now, key_file.read_text())
        authority = CertificateAuthority(now)
        write_private(key_file, authority.key_pem())
        write_private(self._folder / "ca.pem", authority.certificate_pem())
        write_private(self._key_file(NODE), authority.issue(NODE, _HOSTS))
        return authority


def new_salt() -> bytes:
    return os.urandom(_SALT_BYTES)


def write_private(path: Path, text: str) -> None:
    """Writes a file that nobody else can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)

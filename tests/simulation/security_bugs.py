"""Bugs of logins and rights, put in: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any

from tests.simulation.patching import patch


def forget_to_log_in_again() -> None:
    """A node does not log in again, so its session ends while it sends requests."""
    from gralha.broker.peer_login import PeerLogin

    log_in = PeerLogin.log_in

    async def log_in_once(self: Any, send: Any) -> None:
        await log_in(self, send)

    patch(PeerLogin, "log_in", log_in_once)


def lose_requests_during_a_login() -> None:
    """A node does not send the requests that come while it logs in again."""
    from gralha.broker.peers import _Connection

    send_then = _Connection.send_then

    def send_or_lose(self: Any, *args: Any) -> None:
        is_of_node = self._client_id.startswith(("node-", "broker-"))
        if self._held is None or not is_of_node:
            send_then(self, *args)

    patch(_Connection, "send_then", send_or_lose)


def serve_before_the_login_is_complete() -> None:
    """After SaslHandshake all requests are served."""
    from gralha.broker.login import Login, State

    allowed = Login.allowed

    def allowed_early(self: Any) -> Any:
        return self._settings.apis if self.state is State.TOKENS else allowed.fget(self)  # type: ignore[attr-defined]

    patch(Login, "allowed", property(allowed_early))


def serve_after_the_end_of_a_session() -> None:
    """A broker does not look at the end of a session."""
    from gralha.broker.login import Login

    patch(Login, "_expire", lambda self: None)


def remember_passwords() -> None:
    """A broker goes on accepting each password that it has known."""
    from gralha.broker.authentication import Authentication
    from gralha.security.sasl.scram_server import ScramUser

    scram_user = Authentication._scram_user
    remembered: dict[tuple[int, int, str], ScramUser] = {}

    def first_known(self: Any, mechanism: int, name: str) -> ScramUser | None:
        known = scram_user(self, mechanism, name)
        if known is not None:
            remembered.setdefault((id(self), mechanism, name), known)
        return remembered.get((id(self), mechanism, name))

    patch(Authentication, "_scram_user", first_known)


def forget_removed_rights_in_a_snapshot() -> None:
    """A broker that continues from a snapshot learns added ACLs, and not removed ones."""
    from gralha.metadata import delta
    from gralha.metadata.acls import changed_between
    from gralha.security.authorizer import Authorizer

    patch(delta, "changed_between", lambda before, after: (changed_between(before, after)[0], []))
    change = Authorizer.change

    def change_once(self: Any, added: Any, removed: Any) -> None:
        """An ACL that was not removed cannot be added again."""
        kept = self.__dict__.setdefault("kept", set())
        change(self, [acl for acl in added if acl not in kept], removed)
        kept.difference_update(removed)
        kept.update(added)

    patch(Authorizer, "change", change_once)

"""A client that changes the password and the rights of the guests all the time.

The outcome of a request may be unknown. That does no harm: guests are judged by what each broker knows.
"""

import asyncio
from random import Random
from typing import Any, Final, cast

from gralha.protocol.acls import Acl, Operation, Permission, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from gralha.security.sasl import scram
from gralha.simulation.clients import Bootstrap, Client
from gralha.simulation.secured import (
    ADMINISTRATOR,
    GUEST,
    GUEST_TOPIC,
    MECHANISM,
    MECHANISM_NUMBER,
    SALT_BYTES,
    allowed,
    password_of,
)

PAUSE_S: Final = (0.3, 2.5)
WRITES: Final = allowed(GUEST, ResourceType.TOPIC, GUEST_TOPIC, Operation.WRITE)
# It is about all operations, because a rule that denies one implies nothing about others.
WRITES_NOT: Final = WRITES._replace(operation=Operation.ALL, permission=Permission.DENY)
# How many of the last passwords guests try.
REMEMBERED: Final = 3
NEWEST_CHANCE: Final = 0.8


class Administrator(Client):
    def __init__(self, bootstrap: Bootstrap, random: Random) -> None:
        super().__init__(ADMINISTRATOR, bootstrap, GUEST_TOPIC, random)
        # All passwords of the guests, by the salt of the credential. The newest is last.
        self.passwords: dict[bytes, str] = {}
        self.changes = 0
        self.is_finished = False

    def draw_password(self) -> str:
        """One of the last passwords, which may have been replaced, or the user removed."""
        known = list(self.passwords.values())[-REMEMBERED:]
        if not known:
            return password_of(GUEST)
        return known[-1] if self.random.random() < NEWEST_CHANCE else self.random.choice(known)

    async def run(self) -> None:
        while not self.is_stopping:
            await self._change()
            await asyncio.sleep(self.random.uniform(*PAUSE_S))
        # Finally, the guests may act.
        for request in (self._new_password(), _removed(WRITES_NOT), _created(WRITES)):
            while not await self._ask(request):
                await self.back_off()
        self.is_finished = True

    async def _change(self) -> None:
        chance = self.random.random()
        if chance < 0.25:
            request: Message = self._new_password()
        elif chance < 0.35:
            deletion = ScramCredentialDeletion(GUEST, MECHANISM_NUMBER)
            request = AlterUserScramCredentialsRequest(deletions=[deletion])
        elif chance < 0.6:
            request = _created(WRITES)
        elif chance < 0.75:
            request = _removed(WRITES)
        else:
            request = _created(WRITES_NOT) if self.random.random() < 0.25 else _removed(WRITES_NOT)
        if await self._ask(request):
            self.changes += 1

    async def _ask(self, request: Message) -> bool:
        """Returns True if the change is made."""
        answer = cast(Any, await self.ask(self.any_node(), request))
        if answer is None:
            return False
        results = answer.filter_results if isinstance(request, DeleteAclsRequest) else answer.results
        return all(one.error_code == ErrorCode.NONE for one in results)

    def _new_password(self) -> AlterUserScramCredentialsRequest:
        salt = self.random.randbytes(SALT_BYTES)
        password = self.passwords[salt] = f"password {len(self.passwords)}"
        name, iterations = scram.HASHES[MECHANISM], scram.ITERATIONS_MIN
        salted = scram.salted_password(name, password, salt, iterations)
        upsertion = ScramCredentialUpsertion(GUEST, MECHANISM_NUMBER, iterations, salt, salted)
        return AlterUserScramCredentialsRequest(upsertions=[upsertion])


def _created(acl: Acl) -> CreateAclsRequest:
    return CreateAclsRequest([AclCreation(*_fields(acl))])


def _removed(acl: Acl) -> DeleteAclsRequest:
    return DeleteAclsRequest([DeleteAclsFilter(*_fields(acl))])


def _fields(acl: Acl) -> tuple[int, str, int, str, str, int, int]:
    return (
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )

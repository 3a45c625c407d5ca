"""The security of a simulated cluster: its settings, its first users, and their rights.

Clients and brokers log in with SCRAM, and controllers with PLAIN, because they know the users of SCRAM only
when there is a leader. The nodes' own user is a super user. All others have the rights that ACLs give them.
There is no TLS: OpenSSL draws random numbers of its own, so a seed would not repeat. The real processes of
`tests/cluster/chaos.py` have TLS.
"""

from random import Random
from typing import Final

from gralha.broker.sasl_settings import SaslLogin
from gralha.metadata.acls import acl_record
from gralha.protocol.acls import ANY_HOST, ANY_NAME, CLUSTER_NAME, Acl, Operation, PatternType, Permission
from gralha.protocol.acls import ResourceType as Type
from gralha.protocol.message import Message
from gralha.protocol.messages.security_records import UserScramCredentialRecord
from gralha.security.sasl import scram
from gralha.security.sasl.exchange import SCRAM_SHA_256

MECHANISM: Final = SCRAM_SHA_256
MECHANISM_NUMBER: Final = scram.MECHANISM_NUMBERS[MECHANISM]
SALT_BYTES: Final = 16
# The users. The nodes' user is a super user, the clients under load may use everything, the administrator
# manages users and rights, and the guests have what the administrator gives them.
NODE: Final = "node"
LOAD: Final = "load"
ADMINISTRATOR: Final = "administrator"
GUEST: Final = "guest"
# The topic that guests use.
GUEST_TOPIC: Final = "guests"
GUEST_PARTITIONS: Final = 3

_SASL: Final = "org.apache.kafka.common.security"
_MODULES: Final = {
    "sasl.scram-sha-256": f'{_SASL}.scram.ScramLoginModule required username="{NODE}" password="{{0}}";',
    "controller.plain": (
        f'{_SASL}.plain.PlainLoginModule required username="{NODE}" password="{{0}}" user_{NODE}="{{0}}";'
    ),
}
_CLIENT_RIGHTS: Final = (
    (Type.TOPIC, ANY_NAME, Operation.ALL),
    (Type.GROUP, ANY_NAME, Operation.ALL),
    (Type.TRANSACTIONAL_ID, ANY_NAME, Operation.ALL),
    (Type.CLUSTER, CLUSTER_NAME, Operation.CREATE),
    (Type.CLUSTER, CLUSTER_NAME, Operation.ALTER),
    (Type.CLUSTER, CLUSTER_NAME, Operation.IDEMPOTENT_WRITE),
)


def node_lines(host: str, client_port: int, controller_port: int) -> dict[str, str]:
    """The settings of a node's listeners."""
    modules = {
        f"listener.name.{name}.sasl.jaas.config": text.format(password_of(NODE))
        for name, text in _MODULES.items()
    }
    return {
        "listeners": f"SASL://{host}:{client_port},CONTROLLER://{host}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SASL",
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        **modules,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{NODE}",
    }


def password_of(user: str) -> str:
    """The password of a user, unless the administrator has changed it."""
    return f"the password of {user}"


def login_of(user: str) -> SaslLogin:
    return SaslLogin(MECHANISM, user, password_of(user))


def principal_of(user: str) -> str:
    return f"User:{user}"


def first_records(random: Random) -> list[Message]:
    """The users and rights that the cluster begins with."""
    users: list[Message] = [_user_record(name, random) for name in (NODE, LOAD, ADMINISTRATOR)]
    rights = [allowed(LOAD, *one) for one in _CLIENT_RIGHTS]
    rights += [
        allowed(ADMINISTRATOR, Type.CLUSTER, CLUSTER_NAME, operation)
        for operation in (Operation.ALTER, Operation.DESCRIBE)
    ]
    return users + [acl_record(random.randbytes(16), one) for one in rights]


def allowed(
    user: str, kind: Type, name: str, operation: Operation, permission: Permission = Permission.ALLOW
) -> Acl:
    """A rule that allows a user an operation, or denies it."""
    return Acl(kind, name, PatternType.LITERAL, principal_of(user), ANY_HOST, operation, permission)


def _user_record(name: str, random: Random) -> UserScramCredentialRecord:
    salt = random.randbytes(SALT_BYTES)
    made = scram.new_credential(MECHANISM, password_of(name), salt, scram.ITERATIONS_MIN)
    return UserScramCredentialRecord(
        name=name,
        mechanism=MECHANISM_NUMBER,
        salt=made.salt,
        stored_key=made.stored_key,
        server_key=made.server_key,
        iterations=made.iterations,
    )

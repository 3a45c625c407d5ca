"""A member of a classic group, in memory and in a record."""

from collections.abc import Mapping
from dataclasses import dataclass

from gralha.protocol.messages.group_records import MemberMetadata


@dataclass(slots=True)
class ClassicMember:
    """A member, as it described itself when it last joined.

    `protocols` has its metadata for each protocol (assignor) that it supports, its favourite first.
    A member with an `instance_id` is static (KIP-345): it may go and come back within its session.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: dict[str, bytes]
    assignment: bytes = b""
    is_new: bool = False  # it has joined, but was in no generation yet

    @property
    def is_static(self) -> bool:
        """Whether the member keeps its place while it is away."""
        return self.instance_id is not None

    def supports_the_same(self, protocols: Mapping[str, bytes]) -> bool:
        """Whether the member has joined with the same protocols before, in the same order."""
        return list(protocols.items()) == list(self.protocols.items())

    def stored(self, protocol: str, assignment: bytes) -> MemberMetadata:
        """The member in a record. A record has the metadata for the group's protocol only."""
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.protocols[protocol],
            assignment=assignment,
        )


def loaded_member(stored: MemberMetadata, protocol: str) -> ClassicMember:
    """The member that a record describes. Only one of its protocols is known."""
    # Records of version 0 have no rebalance timeout.
    has_rebalance_timeout = stored.rebalance_timeout != -1
    return ClassicMember(
        member_id=stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.rebalance_timeout if has_rebalance_timeout else stored.session_timeout,
        session_timeout_ms=stored.session_timeout,
        protocols={protocol: stored.subscription},
        assignment=stored.assignment,
    )

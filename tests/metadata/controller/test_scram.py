"""Users who log in with SCRAM: decisions, records and descriptions."""

from gralha.metadata.controller.scram import (
    ScramDeletion,
    ScramUpsertion,
    alter_scram_credentials,
    describe_scram_credentials,
)
from gralha.metadata.delta import ImageDelta
from gralha.metadata.image import EMPTY_IMAGE, MetadataImage, ScramCredential
from gralha.metadata.records import decode_record, encode_record
from gralha.metadata.snapshot import snapshot_records
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message

KEYS = ScramCredential(b"salt", b"stored", b"server", 4096)
ALICE = ScramUpsertion("alice", 1, KEYS)


def after(image: MetadataImage, records: list[Message]) -> MetadataImage:
    delta = ImageDelta(image)
    for record in records:
        delta.apply(decode_record(encode_record(record)))
    return delta.finish(image.offset + 1, 1)[0]


def changed(
    image: MetadataImage, deletions: list[ScramDeletion], upsertions: list[ScramUpsertion]
) -> tuple[MetadataImage, dict[str, tuple[int, str | None]]]:
    """The next image, and the result of each user."""
    decision = alter_scram_credentials(image, deletions, upsertions)
    results = {one.user: (one.error_code, one.error_message) for one in decision.response.results}
    assert len(results) == len(decision.response.results)
    return after(image, decision.records), results


def test_credentials_are_set_replaced_and_removed() -> None:
    image, results = changed(EMPTY_IMAGE, [], [ALICE])
    assert results == {"alice": (0, None)}
    assert image.scram == {("alice", 1): KEYS}
    other = KEYS._replace(iterations=8192)
    image, _ = changed(image, [], [ScramUpsertion("alice", 1, other), ScramUpsertion("bob", 2, KEYS)])
    assert image.scram == {("alice", 1): other, ("bob", 2): KEYS}
    image, results = changed(image, [ScramDeletion("alice", 1)], [])
    assert results == {"alice": (0, None)}
    assert image.scram == {("bob", 2): KEYS}


def test_one_wrong_change_does_not_stop_the_others() -> None:
    image, results = changed(
        EMPTY_IMAGE,
        [ScramDeletion("gone", 1), ScramDeletion("", 1)],
        [
            ALICE,
            ScramUpsertion("few", 1, KEYS._replace(iterations=4095)),
            ScramUpsertion("many", 2, KEYS._replace(iterations=16385)),
            ScramUpsertion("unknown", 3, KEYS),
            ScramUpsertion("none", 0, KEYS),
        ],
    )
    unacceptable = ErrorCode.UNACCEPTABLE_CREDENTIAL
    unsupported = (ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    assert results == {
        "gone": (ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"),
        "": (unacceptable, "Username must not be empty"),
        "alice": (0, None),
        "few": (unacceptable, "Too few iterations"),
        "many": (unacceptable, "Too many iterations"),
        "unknown": unsupported,
        "none": unsupported,
    }
    assert set(image.scram) == {("alice", 1)}


def test_a_user_who_occurs_twice_keeps_what_it_has() -> None:
    image, _ = changed(EMPTY_IMAGE, [], [ALICE])
    twice = (ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    requests: list[tuple[list[ScramDeletion], list[ScramUpsertion]]] = [
        ([ScramDeletion("alice", 1)] * 2, []),
        ([ScramDeletion("alice", 1)] * 3, []),
        ([ScramDeletion("alice", 1)], [ScramUpsertion("alice", 2, KEYS)]),
        ([], [ALICE, ScramUpsertion("alice", 2, KEYS)]),
    ]
    for deletions, upsertions in requests:
        unchanged, results = changed(image, deletions, upsertions)
        assert results == {"alice": twice}
        assert unchanged.scram == image.scram


def test_a_snapshot_has_the_credentials() -> None:
    image, _ = changed(EMPTY_IMAGE, [], [ALICE, ScramUpsertion("bob", 2, KEYS)])
    assert after(EMPTY_IMAGE, list(snapshot_records(image))).scram == image.scram


def test_descriptions_have_no_keys() -> None:
    image, _ = changed(EMPTY_IMAGE, [], [ALICE, ScramUpsertion("bob", 2, KEYS._replace(iterations=8192))])
    image, _ = changed(image, [], [ScramUpsertion("alice", 2, KEYS)])

    def described(*names: str) -> dict[str, object]:
        response = describe_scram_credentials(image, names)
        return {
            one.user: one.error_message
            or [(info.mechanism, info.iterations) for info in one.credential_infos]
            for one in response.results
        }

    assert described() == {"alice": [(1, 4096), (2, 4096)], "bob": [(2, 8192)]}
    assert described("bob") == {"bob": [(2, 8192)]}
    assert described("nobody", "alice", "alice") == {
        "nobody": "Attempt to describe a user credential that does not exist: nobody",
        "alice": "Cannot describe SCRAM credentials for the same user twice in a single request: alice",
    }
    assert "stored" not in repr(image.scram)

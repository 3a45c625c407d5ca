"""The errors that a request is answered with: an HTTP status, Confluent's code and a message."""

from typing import Final

INCOMPATIBLE: Final = 40901
STORE: Final = 50001
TIMED_OUT: Final = 50002
FORWARDING_FAILED: Final = 50003
NO_LEADER: Final = 50004


class RegistryError(Exception):
    """Ends a request. The code's first three digits are the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return self.code if self.code < 1000 else self.code // 100


def subject_not_found(subject: str | None) -> RegistryError:
    return RegistryError(40401, f"Subject '{'null' if subject is None else subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(40402, f"Version {version} not found.")


def schema_not_found(id_or_guid: int | str | None = None) -> RegistryError:
    return RegistryError(
        40403, "Schema not found" if id_or_guid is None else f"Schema {id_or_guid} not found"
    )


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(
        40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        40407,
        f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted",
    )


def no_subject_compatibility(subject: str) -> RegistryError:
    return RegistryError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_subject_mode(subject: str) -> RegistryError:
    return RegistryError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, problems: list[str]) -> RegistryError:
    return RegistryError(
        INCOMPATIBLE,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
        f"details: [{', '.join(problems)}]",
    )


def invalid_schema(reason: str) -> RegistryError:
    return RegistryError(42201, reason)


def invalid_version(version: object) -> RegistryError:
    return RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"',
    )


def invalid_compatibility() -> RegistryError:
    return RegistryError(
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
        "forward_transitive, and full_transitive",
    )


def invalid_mode() -> RegistryError:
    return RegistryError(42204, "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.")


def not_permitted(reason: str) -> RegistryError:
    return RegistryError(42205, reason)


def read_only(subject: str | None, context: str) -> RegistryError:
    return not_permitted(f"Subject {subject} in context {context} is in read-only mode")


def reference_exists(subject: str, version: int) -> RegistryError:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RegistryError(42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large(reason: str) -> RegistryError:
    return RegistryError(42209, reason)


def invalid_rule_set(reason: str) -> RegistryError:
    return RegistryError(42210, reason)


def context_not_empty(context: str) -> RegistryError:
    return RegistryError(42211, f"The specified context '{context}' is not empty.")


def store_failed(reason: str) -> RegistryError:
    return RegistryError(STORE, reason)


def timed_out(reason: str) -> RegistryError:
    return RegistryError(TIMED_OUT, reason)


def forwarding_failed(reason: str) -> RegistryError:
    return RegistryError(FORWARDING_FAILED, reason)


def no_leader() -> RegistryError:
    return RegistryError(NO_LEADER, "Leader not known.")

"""Random requests to the pure state, compared with a simple model of what must hold.

The model knows only subjects, versions and texts. It checks the answers, and that a state that replays all
records from the beginning, or only those that compaction leaves, is the same.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gralha.registry.deleting import delete_subject, delete_version
from gralha.registry.errors import RegistryError
from gralha.registry.parsing import NewSchema, Parser
from gralha.registry.records import Record
from gralha.registry.registering import Decision, look_up, register
from gralha.registry.settings import ConfigChange, ModeChange, change_config, change_mode, delete_mode
from gralha.registry.state import RegistryState

SUBJECTS = ("a", "b", ":.x:a")
TEXTS = tuple(f'"{name}"' for name in ("string", "int", "long", "bytes"))
subjects = st.sampled_from(SUBJECTS)
texts = st.sampled_from(TEXTS)


def snapshot(state: RegistryState) -> tuple[Any, ...]:
    """Everything that requests can see."""
    versions = {
        (subject, one.version): (one.id, one.schema, one.is_deleted)
        for subject in state.subjects
        for one in state.versions(subject)
    }
    ids = {
        (subject, text): found.version
        for subject in SUBJECTS
        for text in TEXTS
        if (found := look_up(state, Parser(), subject, NewSchema(schema=text))) is not None
    }
    return versions, ids, dict(state.configs), dict(state.modes), state.contexts()


class Registry(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state = RegistryState("NONE")
        self.parser = Parser()
        self.log: list[Record] = []
        # subject -> version -> (text, is deleted)
        self.model: dict[str, dict[int, tuple[str, bool]]] = {}
        # (context, text) -> id, as long as a version has it.
        self.ids: dict[tuple[bool, str], int] = {}
        self.read_only: set[str] = set()
        self.answer: Any = None

    def refusal(self, decide: Callable[[], Decision]) -> int | None:
        """The code of the error, or None after the decision took effect. `answer` has what it answered."""
        try:
            self.answer = self.apply(decide())
        except RegistryError as error:
            return error.code
        return None

    def apply(self, decision: Decision) -> Any:
        for record in decision.records:
            self.log.append(record)
            self.state.replay(record)
        return decision.answer

    def versions(self, subject: str) -> dict[int, tuple[str, bool]]:
        return self.model.setdefault(subject, {})

    def forget_ids(self) -> None:
        """An id lasts until the last version with it is deleted for good."""
        texts = {
            (subject.startswith(":"), text) for subject, its in self.model.items() for text, _ in its.values()
        }
        self.ids = {key: schema_id for key, schema_id in self.ids.items() if key in texts}

    @rule(subject=subjects, text=texts)
    def register(self, subject: str, text: str) -> None:
        its = self.versions(subject)
        having = [number for number, (one, deleted) in its.items() if one == text and not deleted]
        code = self.refusal(lambda: register(self.state, self.parser, subject, NewSchema(schema=text)))
        assert code == (42205 if subject in self.read_only else None)
        if code is not None:
            return
        answer = self.answer
        key = (subject.startswith(":"), text)
        assert self.ids.setdefault(key, answer.id) == answer.id, "a schema keeps its id"
        assert list(self.ids.values()).count(answer.id) <= 2, "one id in each of the two contexts"
        if having:
            assert answer.version == having[0]
            return
        number = max(its, default=0) + 1
        assert answer.version == number
        for older in [older for older, (one, deleted) in its.items() if one == text and deleted]:
            del its[older]
        its[number] = (text, False)

    @rule(subject=subjects, number=st.integers(1, 4), permanent=st.booleans())
    def delete_version(self, subject: str, number: int, permanent: bool) -> None:
        its = self.versions(subject)
        found = its.get(number)
        code = self.refusal(lambda: delete_version(self.state, subject, number, permanent=permanent))
        expected: int | None = None
        if found is None:
            expected = 40402 if its else 40401
        elif found[1] and not permanent:
            expected = 40406
        elif subject in self.read_only:
            expected = 42205
        elif permanent and not found[1]:
            expected = 40407
        assert code == expected
        if code is not None:
            return
        assert found is not None
        if permanent:
            del its[number]
            self.forget_ids()
        else:
            its[number] = (found[0], True)

    @rule(subject=subjects, permanent=st.booleans())
    def delete_subject(self, subject: str, permanent: bool) -> None:
        its = self.versions(subject)
        live = [number for number, (_, deleted) in sorted(its.items()) if not deleted]
        code = self.refusal(lambda: delete_subject(self.state, subject, permanent=permanent))
        expected: int | None = None
        if not its:
            expected = 40401
        elif not permanent and not live:
            expected = 40404
        elif subject in self.read_only:
            expected = 42205
        elif permanent and live:
            expected = 40405
        assert code == expected
        if code is not None:
            return
        answer = self.answer
        assert answer == (sorted(its) if permanent else live)
        if permanent:
            its.clear()
            self.forget_ids()
        else:
            self.model[subject] = {number: (text, True) for number, (text, _) in its.items()}

    @rule(subject=subjects, mode=st.sampled_from(["READONLY", "READWRITE"]))
    def set_mode(self, subject: str, mode: str) -> None:
        self.apply(change_mode(self.state, subject, ModeChange(mode), force=False))
        (self.read_only.add if mode == "READONLY" else self.read_only.discard)(subject)

    @precondition(lambda self: self.read_only)
    @rule()
    def delete_mode(self) -> None:
        subject = sorted(self.read_only)[0]
        self.apply(delete_mode(self.state, subject, recursive=False))
        self.read_only.discard(subject)

    @rule(subject=st.sampled_from([*SUBJECTS, None]), alias=st.sampled_from(["b", None]))
    def set_config(self, subject: str | None, alias: str | None) -> None:
        if subject is None or subject not in self.read_only:
            self.apply(change_config(self.state, subject, ConfigChange(alias=alias)))

    @invariant()
    def the_versions_are_those_of_the_model(self) -> None:
        found = {
            subject: {one.version: (one.schema, one.is_deleted) for one in self.state.versions(subject)}
            for subject in self.state.subjects
        }
        assert found == {subject: its for subject, its in self.model.items() if its}

    @invariant()
    def ids_find_their_schemas(self) -> None:
        for (in_context, text), schema_id in self.ids.items():
            found = self.state.by_id(schema_id, ":.x:" if in_context else None)
            assert found is None or found.schema == text

    def teardown(self) -> None:
        """A restart forgets nothing, whether or not compaction has removed older records."""
        self.compare(self.log)
        newest = {record.key: place for place, record in enumerate(self.log)}
        self.compare([record for place, record in enumerate(self.log) if newest[record.key] == place])

    def compare(self, records: list[Record]) -> None:
        again = RegistryState("NONE")
        for record in records:
            again.replay(record)
        assert snapshot(again) == snapshot(self.state)


TestRegistry = Registry.TestCase
TestRegistry.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)

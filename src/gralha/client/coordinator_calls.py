"""Calls to coordinators: each group and each transactional id has one, and it may change at any time.

A key is the id of a group or a transactional id.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from gralha.client.calls import Calls, error_or_none
from gralha.client.cluster import is_hopeless
from gralha.client.errors import ConnectionFailedError, UnansweredError
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

Result = TypeVar("Result")
Answers = dict[str, Result | KafkaError]

# From this version on one request finds the coordinators of many groups (KIP-699).
_MANY_KEYS_VERSION: Final = 4
# The kinds of keys in FindCoordinator.
GROUP: Final = 0
TRANSACTION: Final = 1


class CoordinatorCalls(Calls):
    """Finds the coordinators of keys and sends requests to them."""

    def _ask_coordinators(
        self,
        keys: Iterable[str],
        ask: Callable[[int, list[str]], Answers[Result]],
        *,
        key_type: int = GROUP,
        is_change: bool = False,
    ) -> Answers[Result]:
        """Asks the coordinator of each key. Finds it again if it was wrong or does not answer."""

        def attempt(pending: list[str]) -> Answers[Result]:
            answers: Answers[Result] = {}
            by_coordinator: dict[int, list[str]] = {}
            for key, coordinator in self._find_coordinators(pending, key_type).items():
                if isinstance(coordinator, KafkaError):
                    answers[key] = coordinator
                else:
                    by_coordinator.setdefault(coordinator, []).append(key)
            for coordinator_id, its_keys in by_coordinator.items():
                try:
                    answers.update(ask(coordinator_id, its_keys))
                except KafkaError as error:
                    answers.update(dict.fromkeys(its_keys, error))
                except ConnectionFailedError as failure:
                    away = error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(failure))
                    answers.update(dict.fromkeys(its_keys, away))
                except UnansweredError as failure:
                    unanswered = error_for(ErrorCode.NETWORK_EXCEPTION, str(failure))
                    answers.update(dict.fromkeys(its_keys, unanswered))
            return answers

        return self.cluster.each(keys, attempt, is_change=is_change)

    def _ask_coordinator(
        self,
        key: str,
        ask: Callable[[int], Result],
        *,
        key_type: int = GROUP,
        is_change: bool = False,
    ) -> Result:
        """Asks the coordinator of one key. Raises the last error."""
        result = self._ask_coordinators(
            [key],
            lambda coordinator, _keys: {key: ask(coordinator)},
            key_type=key_type,
            is_change=is_change,
        )[key]
        if isinstance(result, KafkaError):
            raise result
        return result

    def hopeless_coordinator(self, key: str, key_type: int) -> KafkaError | None:
        """The error if the brokers cannot have a coordinator for the key. Asks once."""
        found = self._find_coordinators([key], key_type)[key]
        return found if isinstance(found, KafkaError) and is_hopeless(found) else None

    def _find_coordinators(self, keys: list[str], key_type: int) -> dict[str, int | KafkaError]:
        if self.cluster.any_connection().version_for(FindCoordinatorRequest) < _MANY_KEYS_VERSION:
            return {key: self._find_coordinator(key, key_type) for key in keys}
        request = FindCoordinatorRequest(coordinator_keys=keys, key_type=key_type)
        response = self.cluster.send_to_any(request, FindCoordinatorResponse)
        return {
            found.key: error_or_none(found.error_code, found.error_message) or found.node_id
            for found in response.coordinators
        }

    def _find_coordinator(self, key: str, key_type: int) -> int | KafkaError:
        request = FindCoordinatorRequest(key=key, key_type=key_type)
        found = self.cluster.send_to_any(request, FindCoordinatorResponse)
        return error_or_none(found.error_code, found.error_message) or found.node_id

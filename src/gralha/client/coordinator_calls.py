"""Calls to the coordinators of groups. Each group has one, and it may change at any time."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from gralha.client.calls import Calls, error_or_none
from gralha.client.errors import ConnectionFailedError, UnansweredError
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

Result = TypeVar("Result")
Answers = dict[str, Result | KafkaError]

# From this version on one request finds the coordinators of many groups (KIP-699).
_MANY_KEYS_VERSION: Final = 4


class CoordinatorCalls(Calls):
    """Finds the coordinators of groups and sends requests to them."""

    def _ask_coordinators(
        self,
        group_ids: Iterable[str],
        ask: Callable[[int, list[str]], Answers[Result]],
        *,
        is_change: bool = False,
    ) -> Answers[Result]:
        """Asks the coordinator of each group. Finds it again if it was wrong or does not answer."""

        def attempt(pending: list[str]) -> Answers[Result]:
            answers: Answers[Result] = {}
            by_coordinator: dict[int, list[str]] = {}
            for group_id, coordinator in self._find_coordinators(pending).items():
                if isinstance(coordinator, KafkaError):
                    answers[group_id] = coordinator
                else:
                    by_coordinator.setdefault(coordinator, []).append(group_id)
            for coordinator_id, groups in by_coordinator.items():
                try:
                    answers.update(ask(coordinator_id, groups))
                except KafkaError as error:
                    answers.update(dict.fromkeys(groups, error))
                except ConnectionFailedError as failure:
                    away = error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(failure))
                    answers.update(dict.fromkeys(groups, away))
                except UnansweredError as failure:
                    unanswered = error_for(ErrorCode.NETWORK_EXCEPTION, str(failure))
                    answers.update(dict.fromkeys(groups, unanswered))
            return answers

        return self.cluster.each(group_ids, attempt, is_change=is_change)

    def _ask_coordinator(
        self, group_id: str, ask: Callable[[int], Result], *, is_change: bool = False
    ) -> Result:
        """Asks the coordinator of one group. Raises the last error."""
        result = self._ask_coordinators(
            [group_id], lambda coordinator, _groups: {group_id: ask(coordinator)}, is_change=is_change
        )[group_id]
        if isinstance(result, KafkaError):
            raise result
        return result

    def _find_coordinators(self, group_ids: list[str]) -> dict[str, int | KafkaError]:
        if self.cluster.any_connection().version_for(FindCoordinatorRequest) < _MANY_KEYS_VERSION:
            return {group_id: self._find_coordinator(group_id) for group_id in group_ids}
        request = FindCoordinatorRequest(coordinator_keys=group_ids)
        response = self.cluster.send_to_any(request, FindCoordinatorResponse)
        return {
            found.key: error_or_none(found.error_code, found.error_message) or found.node_id
            for found in response.coordinators
        }

    def _find_coordinator(self, group_id: str) -> int | KafkaError:
        found = self.cluster.send_to_any(FindCoordinatorRequest(key=group_id), FindCoordinatorResponse)
        return error_or_none(found.error_code, found.error_message) or found.node_id

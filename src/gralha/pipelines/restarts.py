"""Decides whether a failed query is restarted.

Pauses double from a second to a minute, with jitter, so that many pipelines do not restart at once. After a
successful batch the pause is a second again. There are three kinds of errors:

- passing: a broker or an executor is away. The query is restarted for ever.
- hopeless: records are gone, a topic refuses rows, the query does not fit its state, the executors lack
  Gralha. The query is not restarted.
- unknown: for example a bug in the pipeline that fails at the same record again and again. The query is given
  up after several equal errors, or a few more different ones, without a successful batch between.
"""

import random
import re
from dataclasses import dataclass, field
from typing import Final, Literal

from gralha.client.errors import KafkaError
from gralha.pipelines.spark_errors import NO_GRALHA

Kind = Literal["passing", "hopeless", "unknown"]

PAUSE_SECONDS: Final = 1.0
PAUSE_SECONDS_MAX: Final = 60.0
JITTER: Final = 0.2
SAME_ERRORS_MAX: Final = 3
# The texts of one error may differ, for example in a number.
UNKNOWN_ERRORS_MAX: Final = 5

# A broker's errors that may disappear when the request is repeated.
RETRIABLE: Final = "|".join(sorted(one.__name__ for one in KafkaError.__subclasses__() if one().retriable))
PASSING: Final = re.compile(
    r"ConnectionFailedError|UnansweredError|RequestTimeoutError|DeliveryError"
    rf"|gralha\.protocol\.errors\.(?:{RETRIABLE})\b|SourceError: [^\n]* cannot be read"
    r"|java\.net\.\w*Exception|ConnectionRefused|ConnectionResetError|BrokenPipeError"
    r"|ExecutorLostFailure|FetchFailed|failed to connect back|Master removed our application"
    # A busy machine: Spark gives a Python process ten seconds to start.
    r"|Python worker failed to connect back|port number from pyspark\.daemon"
)
HOPELESS: Final = re.compile(
    r"DeliveryRefusedError|OffsetsLostError|TopicRecreatedError|DataLossError|SettingsError|RowsError|SecretError"
    rf"|AnalysisException|ParseException|SchemaError|OptionError|{NO_GRALHA}"
    r"|STATE_STORE_\w*SCHEMA|STATE_STORE_\w*NOT_COMPATIBLE|STATEFUL_PROCESSOR_"
    r"|STREAMING_STATEFUL_OPERATOR_|MISSING_PARTITIONS_IN_STATE|SparkContext (was|has been) shut"
)


def kind_of(text: str) -> Kind:
    """The kind of error in the text of a failed query."""
    if HOPELESS.search(text):
        return "hopeless"
    return "passing" if PASSING.search(text) else "unknown"


@dataclass
class BackOff:
    """Decides about the restarts of one pipeline."""

    chooser: random.Random = field(default_factory=random.Random)
    _failures: int = 0
    _last: str = ""
    _same: int = 0
    _unknown: int = 0

    def worked(self) -> None:
        """A batch was successful. Earlier failures do not count any more."""
        self._failures, self._same, self._unknown, self._last = 0, 0, 0, ""

    def pause_after(self, text: str, sentence: str) -> float | None:
        """The seconds to wait after a failure. None means to give up."""
        kind = kind_of(text)
        if kind == "unknown":  # passing errors between unknown ones do not count
            self._same = self._same + 1 if sentence == self._last else 1
            self._last = sentence
            self._unknown += 1
        is_known_by_now = self._same >= SAME_ERRORS_MAX or self._unknown >= UNKNOWN_ERRORS_MAX
        if kind == "hopeless" or (kind == "unknown" and is_known_by_now):
            return None
        pause = min(PAUSE_SECONDS * 2.0**self._failures, PAUSE_SECONDS_MAX)
        self._failures = min(self._failures + 1, 10)
        return pause * self.chooser.uniform(1 - JITTER, 1 + JITTER)

"""The contract between a Kafka broker and any client: scenarios, each written once.

A scenario is a function of a `Stage`. `SCENARIOS` lists them by name; which client plays which one
is decided in `tests.clients.contract`.
"""

from tests.clients.scenarios import records, topics
from tests.clients.scenarios.stage import Scenario, Stage

SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario for scenario in [*records.SCENARIOS, *topics.SCENARIOS]
}

__all__ = ["SCENARIOS", "Scenario", "Stage"]

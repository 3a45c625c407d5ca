"""Random requests that the OpenAPI document allows: no server error, and no answer outside the document."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS

from tests.registry.instances import Instance

CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
           "response_schema_conformance")  # fmt: skip


@pytest.fixture
def api(registry: Instance) -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_url(f"{registry.url}/openapi.json")


loaded = schemathesis.pytest.from_fixture("api")


@loaded.parametrize()
@settings(
    max_examples=8,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_api_keeps_to_its_document(case: schemathesis.Case, registry: Instance) -> None:
    case.call_and_validate(base_url=registry.url, checks=[CHECKS.get_one(name) for name in CHECKED])

"""Random requests that the OpenAPI document allows: no server error, and no answer outside the document."""

from typing import Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gralha.registry.http.routes import ROUTES
from tests.registry.instances import Instance

CHECKED: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Modes of the whole registry would hold for the subjects of other tests.
LEFT_OUT: Final = {("PUT", "/mode"), ("PUT", "/mode/{subject}"), ("PUT", "/config")}


@pytest.fixture(scope="session")
def api(registry: Instance) -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_url(f"{registry.url}/openapi.json")


@pytest.mark.parametrize(
    ("method", "path"),
    [(route.method, route.path) for route in ROUTES if (route.method, route.path) not in LEFT_OUT],
)
def test_the_api_keeps_to_its_document(
    api: schemathesis.schemas.BaseSchema, registry: Instance, method: str, path: str
) -> None:
    operation = api[path][method]

    @settings(
        max_examples=8,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy())
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=registry.url, checks=CHECKED)

    check()

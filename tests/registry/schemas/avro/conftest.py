"""The Java library, started once for all tests of Avro."""

from collections.abc import Iterator

import pytest

from tests.apache.avro.oracle import AvroOracle


@pytest.fixture(scope="package")
def java() -> Iterator[AvroOracle]:
    oracle = AvroOracle()
    yield oracle
    oracle.close()

"""Numbers in Java's notation."""

import pytest

from gralha.protocol.client_quotas import double_text, quota_entity


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (1.0, "1.0"),
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.00055, "5.5E-4"),
        (0.00001, "1.0E-5"),
        (1048576.0, "1048576.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (10485760.0, "1.048576E7"),
        (123456789.25, "1.2345678925E8"),
        (9.223372036854775807e18, "9.223372036854776E18"),
        (-2.5e10, "-2.5E10"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_a_number_as_java_prints_it(value: float, text: str) -> None:
    assert double_text(value) == text


def test_an_entity_does_not_depend_on_the_order_of_its_parts() -> None:
    assert quota_entity([("user", None), ("client-id", "a")]) == quota_entity(
        [("client-id", "a"), ("user", None)]
    )
    assert quota_entity([("user", "a"), ("user", "b")]) == (("user", "b"),)

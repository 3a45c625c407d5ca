"""Numbers in Java's notation."""

import pytest

from gralha.cli.java_numbers import double_text


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

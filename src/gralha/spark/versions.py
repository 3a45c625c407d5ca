"""The version of PySpark. Versions 4.1 to 4.3 are supported; the older ones lack some calls."""

from typing import Final

import pyspark

# From here on Spark tells a source in Python where the last batch ended and how much it may read.
LIMITS_BATCHES: Final = (4, 2)


def spark_version() -> tuple[int, int]:
    """The major and minor version: (4, 3) for 4.3.0."""
    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def ends_early(option: str) -> str:
    """The warning about an option that limits batches. Spark 4.1 does not tell a source its trigger."""
    return (
        f"With Spark 4.1 and the option '{option}', a query with the trigger AvailableNow ends after one "
        "batch of that size. Its next start reads on. Spark 4.2 reads all records, in several batches."
    )

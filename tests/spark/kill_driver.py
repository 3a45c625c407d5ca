"""The driver of the kill test, a program of its own: copies one topic to another until it has it all.

python kill_driver.py MASTER BOOTSTRAP FOLDER ROWS_PER_BATCH
"""

import sys
from pathlib import Path

from gralha.spark.session import session

SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main(master: str, bootstrap: str, folder: str, rows_per_batch: str) -> None:
    config = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": SMALL,
        "spark.executor.extraJavaOptions": SMALL,
        "spark.local.dir": str(Path(folder) / "driver-local"),
        "spark.sql.warehouse.dir": str(Path(folder) / "warehouse"),
    }
    spark = session(master, "kill test", config)
    query = (
        spark.readStream.format("gralha")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "input")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows_per_batch)
        .load()
        .select("value")
        .writeStream.format("gralha")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "output")
        .option("checkpointLocation", str(Path(folder) / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

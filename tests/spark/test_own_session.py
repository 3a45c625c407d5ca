"""A session of `gralha.spark.session`, in another process, because this one has a session already."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark


def test_a_session_has_all_of_it(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from gralha.spark.session import session, settings\n"
        "config = {'spark.ui.enabled': 'false', 'spark.sql.session.timeZone': 'CET',\n"
        "          'spark.driver.extraJavaOptions': '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'}\n"
        "spark = session('local[1]', 'mine', config)\n"
        "want = settings('local[1]') | {'spark.sql.session.timeZone': 'CET', 'spark.app.name': 'mine'}\n"
        "conf = spark.sparkContext.getConf()\n"
        "wrong = {k: conf.get(k) for k, v in want.items() if conf.get(k) != v}\n"
        "from pyspark.sql.functions import udf\n"
        "def origin(_):\n"
        "    import pyspark\n"
        "    return [sys.executable, pyspark.__file__]\n"
        "row = spark.range(1).select(udf(origin, 'array<string>')('id')).first()\n"
        "print('wrong', wrong, 'runs', *row[0])\n"
    )
    chosen = ("PYSPARK_PYTHON", "SPARK_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in chosen}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=110,
    )
    # Its workers find PySpark as files. From Spark's zip they would compile it again each time.
    assert done.stdout == f"wrong {{}} runs {sys.executable} {pyspark.__file__}\n", done.stderr[-3000:]

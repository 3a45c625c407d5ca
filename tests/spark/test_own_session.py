"""A session as `gralha.spark.session` makes it; this process has one already, so it is another's."""

import os
import subprocess
import sys
from pathlib import Path


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
        "row = spark.range(1).select(udf(lambda _: sys.executable)('id')).first()\n"
        "print('wrong', wrong, 'runs', row[0])\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=110,
    )
    assert done.stdout == f"wrong {{}} runs {sys.executable}\n", done.stderr[-3000:]

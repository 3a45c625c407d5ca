"""Compiles the hot modules with mypyc where a C compiler exists; everything also runs uncompiled.

`GRALHA_COMPILE=0` leaves them out. A module may be listed here if it is typed, has plain native
classes and is on the path of a produce or fetch request.
"""

import os
import shutil
import sysconfig

from setuptools import setup

HOT_MODULES = [
    "src/gralha/protocol/primitives.py",
    "src/gralha/protocol/message.py",
    "src/gralha/protocol/batches.py",
    "src/gralha/protocol/records.py",
    "src/gralha/protocol/messages/produce.py",
    "src/gralha/protocol/messages/fetch.py",
    "src/gralha/storage/config.py",
    "src/gralha/storage/disk.py",
    "src/gralha/storage/index.py",
    "src/gralha/storage/segment.py",
    "src/gralha/storage/producer_state.py",
    "src/gralha/storage/validation.py",
    "src/gralha/storage/log_state.py",
    "src/gralha/storage/log.py",
    "src/gralha/replication/partition.py",
    "src/gralha/broker/pipeline.py",
    "src/gralha/broker/fetch_sessions.py",
    "src/gralha/broker/handlers/produce.py",
    "src/gralha/broker/handlers/fetch.py",
]


def compiled_modules() -> list:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if os.environ.get("GRALHA_COMPILE", "1") == "0" or not (shutil.which(compiler) or shutil.which("cc")):
        return []
    from mypyc.build import mypycify

    extensions = mypycify(
        [path for path in HOT_MODULES if os.path.exists(path)], opt_level="2", debug_level="0", group_name="gralha"
    )
    for extension in extensions:
        extension.optional = True  # a failing compiler leaves the plain modules, which work as well
    return extensions


setup(ext_modules=compiled_modules())

"""Compiles the hot modules with mypyc where a C compiler exists; everything also runs uncompiled.

A module may be listed here if it is typed, has plain native classes and is on the path of a produce or fetch
request, or walks over whole logs or Arrow columns. All of them are compiled, or none: they share one library.

GRALHA_COMPILE=0 leaves them out; GRALHA_COMPILE=required makes a failure fail the build; GRALHA_COMPILE=keep
packs the compiled modules that src has already.
"""

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_ext import build_ext

HOT_MODULES = [
    "src/gralha/protocol/primitives.py",
    "src/gralha/protocol/message.py",
    "src/gralha/protocol/batches.py",
    "src/gralha/protocol/records.py",
    "src/gralha/protocol/record_check.py",
    "src/gralha/protocol/record_walk.py",
    "src/gralha/protocol/messages/produce.py",
    "src/gralha/protocol/messages/fetch.py",
    "src/gralha/storage/config.py",
    "src/gralha/storage/system_calls.py",
    "src/gralha/storage/disk.py",
    "src/gralha/storage/real_disk.py",
    "src/gralha/storage/index.py",
    "src/gralha/storage/shared_reads.py",
    "src/gralha/storage/segment.py",
    "src/gralha/storage/producer_state.py",
    "src/gralha/storage/leader_epochs.py",
    "src/gralha/storage/validation.py",
    "src/gralha/storage/retention.py",
    "src/gralha/storage/recovery.py",
    "src/gralha/storage/log_state.py",
    "src/gralha/storage/log.py",
    "src/gralha/storage/compaction.py",
    "src/gralha/replication/subscriptions.py",
    "src/gralha/replication/counters.py",
    "src/gralha/replication/followers.py",
    "src/gralha/replication/cluster_view.py",
    "src/gralha/replication/verification.py",
    "src/gralha/replication/leading.py",
    "src/gralha/replication/following.py",
    "src/gralha/replication/partition.py",
    "src/gralha/replication/fetch_state.py",
    "src/gralha/security/authorizer.py",
    "src/gralha/broker/rights.py",
    "src/gralha/broker/request_meters.py",
    "src/gralha/broker/silent_meters.py",
    "src/gralha/broker/quota_use.py",
    "src/gralha/broker/pipeline.py",
    "src/gralha/broker/fetching/wanted.py",
    "src/gralha/broker/fetching/session.py",
    "src/gralha/broker/fetching/sessions.py",
    "src/gralha/broker/fetching/reading.py",
    "src/gralha/broker/fetching/consumer.py",
    "src/gralha/broker/fetching/follower.py",
    "src/gralha/broker/fetching/long_poll.py",
    "src/gralha/broker/handlers/produce_rights.py",
    "src/gralha/broker/handlers/produce.py",
    "src/gralha/broker/handlers/fetch_rights.py",
    "src/gralha/broker/handlers/fetch.py",
    "src/gralha/client/record_columns.py",
    "src/gralha/client/partitioner.py",
    "src/gralha/client/record_builder.py",
]
WANTED = os.environ.get("GRALHA_COMPILE", "1")


def has_compiler() -> bool:
    """Whether there are a C compiler and Python's headers. If CC is set, it names the compiler."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(shlex.split(command)[0]) is not None and headers.exists()


class Gralha(Distribution):
    """Knows if there will be compiled modules before they are compiled, because the wheel's name says so."""

    def has_ext_modules(self) -> bool:
        return WANTED in ("required", "keep") or (WANTED != "0" and has_compiler())


class AllOrNothing(build_ext):
    """A compiler that fails leaves the plain modules, which work as well, only slower.

    mypyc runs here and not when setup.py begins: pip starts setup.py several times for one installation.
    """

    def run(self) -> None:
        # What an earlier build left may be of modules that are not compiled any more.
        for stale in Path(self.build_lib).rglob("*.so"):
            stale.unlink()
        if WANTED == "keep":
            self.keep()
        elif self.distribution.has_ext_modules():
            self.compile()

    def keep(self) -> None:
        compiled = list(Path("src").rglob("*.so"))
        if not compiled:
            sys.exit("gralha: src has no compiled modules to keep: run scripts/compile")
        for module in compiled:
            target = Path(self.build_lib, module.relative_to("src"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(module, target)

    def compile(self) -> None:
        try:
            from mypyc.build import mypycify

            self.distribution.ext_modules = mypycify(
                HOT_MODULES, opt_level="2", debug_level="0", group_name="gralha"
            )
            # Options are finalized with the list of extensions, and only once.
            command = build_ext(self.distribution)
            command.inplace, command.build_lib, command.build_temp = (
                self.inplace,
                self.build_lib,
                self.build_temp,
            )
            command.ensure_finalized()
            self.extensions = command.extensions
            command.run()
        except (Exception, SystemExit) as error:  # mypyc exits
            if WANTED == "required":
                raise
            print(f"gralha: the hot modules stay uncompiled: {error}", file=sys.stderr)
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []


if __name__ == "__main__":
    setup(distclass=Gralha, cmdclass={"build_ext": AllOrNothing})

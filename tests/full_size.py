"""Some tests take minutes in full size. `make test` runs a small version, `make soak` the full one."""

import os
from typing import Final

IS_FULL: Final = os.environ.get("GRALHA_TESTS") == "full"

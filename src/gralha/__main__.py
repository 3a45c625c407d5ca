"""`python -m gralha ...` is the same as `gralha ...`."""

import sys

from gralha.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

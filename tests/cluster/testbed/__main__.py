"""`python -m testbed build|up|down|status`."""

import sys

from testbed import binaries

if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        binaries.build()

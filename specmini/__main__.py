"""``python -m specmini`` is the command ``specmini``."""

import sys

from specmini.command import main

if __name__ == "__main__":
    sys.exit(main())

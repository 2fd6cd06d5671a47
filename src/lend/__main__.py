"""`python -m lend`: the command line."""

import sys

from lend.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m scale` is the command `scale`."""

import sys

from scale.cli import main

if __name__ == "__main__":
    sys.exit(main())

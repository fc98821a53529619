"""Run the command `scale` by ``python -m scale``."""

import sys

from scale.cli import main

if __name__ == "__main__":
    sys.exit(main())

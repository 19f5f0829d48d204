"""Entry point of `python -m jitterfly`: the same as the command `jitterfly`."""

import sys

from .cli import main

if __name__ == "__main__":  # workers under mpi4py import it as well
    sys.exit(main())

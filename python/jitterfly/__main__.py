"""`python -m jitterfly`."""

import sys

from .cli import main

if __name__ == "__main__":  # workers under mpi4py import it as well
    sys.exit(main())

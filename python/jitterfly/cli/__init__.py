"""The command `jitterfly` (command line): `main` of `process`, and a module a command."""

from .process import main as main

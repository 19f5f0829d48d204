"""The version of jitterfly, as it was installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("jitterfly")
except PackageNotFoundError:  # used from a source tree
    __version__ = "0+source"

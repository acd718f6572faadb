"""Gatewatch: the command line, configuration, and the wiring of everything below."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("gatewatch")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"

"""wattgate: a GraphQL and WebSocket gateway for smart-meter energy apps."""

from importlib import import_module

__version__: str
"""The version of the installed package. It is read at the first use, because few commands need it."""


def __getattr__(name: str) -> str:
    """Return the version of the package. Raise AttributeError for every other name."""
    if name == "__version__":
        version: str = import_module("importlib.metadata").version("wattgate")
        return version
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

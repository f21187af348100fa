"""wattgate: a GraphQL and WebSocket gateway for smart-meter energy apps."""

from importlib.metadata import version

__version__ = version("wattgate")

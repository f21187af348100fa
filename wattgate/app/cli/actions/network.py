"""Carry out the import of the registry of the meter network."""

from functools import partial
from pathlib import Path

from wattgate.app.cli.actions.file_imports import describe_report, run_import
from wattgate.app.cli.imports.network import import_network


def network_import(*, file: Path, refused: Path | None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size."""
    run_import(file, refused, import_network, partial(describe_report, outcome="records stored"))

"""Entry point of the `wattgate` command and of `python -m wattgate`."""

import gc
from importlib import import_module


def main() -> None:
    """Run the command line.

    Objects that are created during import live until exit. So garbage collection is off during import, and excludes
    these objects afterwards.
    """
    gc.disable()
    command_line = import_module("wattgate.app.cli.main")
    gc.freeze()
    gc.enable()
    command_line.main()


if __name__ == "__main__":
    main()

"""The `wattgate` command, and `python -m wattgate`."""

import gc
from importlib import import_module


def main() -> None:
    """Run the command line. What is made while it loads is never garbage, so no search for garbage goes over it."""
    gc.disable()
    command_line = import_module("wattgate.app.cli.main")
    gc.freeze()
    gc.enable()
    command_line.main()


if __name__ == "__main__":
    main()

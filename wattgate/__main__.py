"""Entry point of the `wattgate` command, and of the package when it is run as a module."""

from wattgate.app.cli.commands.dispatch import import_at_start


def main() -> None:
    """Run the command line."""
    import_at_start("wattgate.app.cli.main").main()


if __name__ == "__main__":
    main()

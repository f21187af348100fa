"""`python -m wattgate` is the same as the `wattgate` command."""

from wattgate.app.cli import main

main()

"""The options of `wattgate home create`."""

from pathlib import Path
from typing import Annotated

import typer

Application = Annotated[str, typer.Option(help="Name or ID of the application. A new name creates one.")]
User = Annotated[str, typer.Option(help="E-mail address of the user who owns the home. A new one creates a user.")]
Name = Annotated[str, typer.Option(help="Name of the home.")]
TimeZone = Annotated[str, typer.Option(help="IANA time zone of the home, such as Europe/London.")]
Electricity = Annotated[str, typer.Option(metavar="MPAN", help="Electricity meter point: 13 digits.")]
Gas = Annotated[str | None, typer.Option(metavar="MPRN", help="Gas meter point: 6 to 10 digits.")]
Export = Annotated[str | None, typer.Option(metavar="MPAN", help="Meter point of exported electricity: 13 digits.")]
Live = Annotated[
    bool, typer.Option("--live", help="Also store the live power and registers that a display sends by MQTT.")
]
UnitRate = Annotated[str | None, typer.Option(metavar="PENCE", help="Flat price of a kWh of electricity, with VAT.")]
StandingCharge = Annotated[
    str | None, typer.Option(metavar="PENCE", help="Standing charge of electricity for a day, with VAT.")
]
TariffFile = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="JSON Lines file of tariffs, instead of --unit-rate and --standing-charge."
    ),
]
Currency = Annotated[str, typer.Option(help="Currency of the costs. Only GBP is supported.")]

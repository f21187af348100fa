"""The state of a display on the home's meter network."""

from datetime import datetime

import msgspec


class NetworkState(msgspec.Struct):
    """What a display says of itself and of its place on the home's meter network.

    `rssi` is the strength of the signal in dBm, `lqi` the quality of the link from 0 to 255.
    """

    at: datetime
    software: str | None = None
    hardware: str | None = None
    smets_version: str | None = None
    rssi: int | None = None
    lqi: int | None = None
    status: str | None = None

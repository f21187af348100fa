"""State of a display and of its link to the home's meter network."""

from datetime import datetime

import msgspec


class NetworkState(msgspec.Struct):
    """A display's report about itself and its link to the home's meter network.

    `rssi` is the signal strength in dBm. `lqi` is the link quality from 0 to 255.
    """

    at: datetime
    software: str | None = None
    hardware: str | None = None
    smets_version: str | None = None
    rssi: int | None = None
    lqi: int | None = None
    status: str | None = None

"""The units of imported readings."""

from enum import Enum


class Unit(Enum):
    """The units of values that an import converts."""

    WH = "Wh"
    KWH = "kWh"
    M3 = "m3"

"""Simulated energy use and generation of homes. Pure: the same home and time give the same numbers.

Energy is in kWh for each half hour, power in W, and instants in UTC. Habits follow local time in Europe/London.
"""

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from random import Random
from zoneinfo import ZoneInfo

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)
_POWER_STEP_SECONDS = 8  # seconds for which the power stays the same

# Relative share of a day's electricity for each hour of local time: on a weekday, and on a weekend.
_WEEKDAY_SHARES = (3, 2, 2, 2, 2, 3, 5, 9, 7, 4, 3, 3, 4, 3, 3, 4, 6, 10, 13, 12, 11, 9, 7, 4)
_WEEKEND_SHARES = (4, 3, 2, 2, 2, 2, 3, 5, 8, 9, 8, 7, 8, 8, 7, 6, 7, 9, 11, 11, 10, 9, 7, 5)
_HEATING_HOURS = {6: 0.8, 7: 1.0, 8: 0.7, 16: 0.5, 17: 0.8, 18: 1.0, 19: 1.0, 20: 0.9, 21: 0.6}


@dataclass(frozen=True, slots=True)
class Habits:
    """The energy use of a home.

    `electricity` is in kWh on a mean day, and `hot_water` in kWh of gas for each day. `gas_heating` is in kWh for each
    hour at 15 degrees below the comfort temperature (0: no gas). `solar` is the peak power of the panels in kW (0: no
    panels).
    """

    seed: int
    electricity: float
    gas_heating: float = 0.0
    hot_water: float = 0.0
    solar: float = 0.0


@dataclass(frozen=True, slots=True)
class HalfHour:
    """The energy that a home's meters measure in a half hour, in kWh. `used` is the consumption of its appliances."""

    used: float
    imported: float
    exported: float
    gas: float


@lru_cache(maxsize=4096)
def simulate_day(habits: Habits, day: date) -> tuple[HalfHour, ...]:
    """Return the 48 half hours of a day in local time. If the clocks change, callers skip an hour or read it twice."""
    random = Random(f"{habits.seed}:{day.isoformat()}")  # noqa: S311 (simulated homes)
    shares = _WEEKEND_SHARES if day.weekday() >= 5 else _WEEKDAY_SHARES
    total = habits.electricity * _seasonal_factor(day, warm=0.86, cold=1.16) * random.uniform(0.85, 1.2)
    cloud = random.uniform(0.15, 1.0)
    degrees_below = max(0.0, 16.0 - _temperature(day) - random.gauss(0, 2.5))
    appliances = {random.randrange(13, 45): random.uniform(0.3, 0.9) for _ in range(random.randrange(1, 4))}
    half_hours = []
    for slot in range(48):
        hour = slot / 2
        used = total * shares[slot // 2] / sum(shares) / 2 * random.lognormvariate(0, 0.22) + appliances.get(slot, 0)
        generated = _solar_power(habits.solar, day, hour) * cloud * random.uniform(0.7, 1.0) / 2
        heat = habits.gas_heating * degrees_below / 15 * _HEATING_HOURS.get(slot // 2, 0.06) / 2
        water = habits.hot_water / 4 * random.uniform(0.6, 1.4) if slot in (14, 15, 39, 43) else 0.0
        half_hours.append(
            HalfHour(
                used=used,
                imported=max(0.0, used - generated),
                exported=max(0.0, generated - used),
                gas=heat * random.lognormvariate(0, 0.12) + water if habits.gas_heating else 0.0,
            )
        )
    return tuple(half_hours)


def simulate_half_hour(habits: Habits, start: datetime) -> HalfHour:
    """Return the energy of the half hour that starts at an instant."""
    local = start.astimezone(LONDON)
    return simulate_day(habits, local.date())[local.hour * 2 + local.minute // 30]


def simulate_power(habits: Habits, at: datetime) -> int:
    """Return the net power at the meter in W, which is negative during export.

    It varies around the mean power of the half hour. Sometimes a kettle adds 2.3 kW.
    """
    half_hour = simulate_half_hour(habits, at)
    step = int(at.timestamp()) // _POWER_STEP_SECONDS
    random = Random(f"{habits.seed}:{step}")  # noqa: S311 (simulated homes)
    kettle = 2300.0 if half_hour.used > 0.2 and random.random() < 0.03 else 0.0
    used = half_hour.used * 2000 * random.uniform(0.72, 1.22) + kettle
    generated = (half_hour.exported + half_hour.used - half_hour.imported) * 2000 * random.uniform(0.9, 1.08)
    return round(used - generated)


def _seasonal_factor(day: date, *, warm: float, cold: float) -> float:
    """Return a factor between `cold` in mid January and `warm` in mid July."""
    return (cold + warm) / 2 + (cold - warm) / 2 * _winter_factor(day)


def _temperature(day: date) -> float:
    """Return the mean outdoor temperature of a day in degrees Celsius: 4.5 in mid January, 17 in mid July."""
    return 10.75 - 6.25 * _winter_factor(day)


def _winter_factor(day: date) -> float:
    """Return a cosine over the year: 1 in mid January, -1 in mid July."""
    return math.cos(2 * math.pi * (day.timetuple().tm_yday - 15) / 365.25)


def _solar_power(peak: float, day: date, hour: float) -> float:
    """Return the power of panels in kW under a clear sky at 52 degrees north, from the elevation of the sun."""
    if not peak:
        return 0.0
    declination = math.radians(-23.44) * math.cos(2 * math.pi * (day.timetuple().tm_yday + 10) / 365.25)
    latitude, hour_angle = math.radians(52), math.radians((hour - 12.5) * 15)
    elevation_sine = math.sin(latitude) * math.sin(declination) + math.cos(latitude) * math.cos(declination) * math.cos(
        hour_angle
    )
    return peak * math.pow(max(0.0, elevation_sine), 1.15)

"""What simulated homes use and make. Pure: the same home at the same time gives the same numbers.

Energy is in kWh a half hour, power in W, instants in UTC, habits in the wall clock of Europe/London.
"""

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from random import Random
from zoneinfo import ZoneInfo

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)
_POWER_STEP_SECONDS = 8  # seconds for which an appliance's draw stays the same

# Share of a day's electricity by hour of the wall clock: people at work, and people at home.
_WEEKDAY_SHARES = (3, 2, 2, 2, 2, 3, 5, 9, 7, 4, 3, 3, 4, 3, 3, 4, 6, 10, 13, 12, 11, 9, 7, 4)
_WEEKEND_SHARES = (4, 3, 2, 2, 2, 2, 3, 5, 8, 9, 8, 7, 8, 8, 7, 6, 7, 9, 11, 11, 10, 9, 7, 5)
_HEATING_HOURS = {6: 0.8, 7: 1.0, 8: 0.7, 16: 0.5, 17: 0.8, 18: 1.0, 19: 1.0, 20: 0.9, 21: 0.6}


@dataclass(frozen=True, slots=True)
class Habits:
    """How a home lives.

    `electricity` is kWh on a mean day; `gas_heating` kWh an hour at 15 degrees below comfort (0: no gas);
    `hot_water` kWh of gas a day; `solar` the peak power of its panels in kW (0: none).
    """

    seed: int
    electricity: float
    gas_heating: float = 0.0
    hot_water: float = 0.0
    solar: float = 0.0


@dataclass(frozen=True, slots=True)
class HalfHour:
    """What the meters of a home count in half an hour, in kWh; `used` is what its appliances took."""

    used: float
    imported: float
    exported: float
    gas: float


@lru_cache(maxsize=4096)
def simulate_day(habits: Habits, day: date) -> tuple[HalfHour, ...]:
    """The 48 half hours of a day by the wall clock. Where clocks change, an hour is left out or looked up twice."""
    random = Random(f"{habits.seed}:{day.isoformat()}")
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
    """What is counted in the half hour that begins at an instant."""
    local = start.astimezone(LONDON)
    return simulate_day(habits, local.date())[local.hour * 2 + local.minute // 30]


def simulate_power(habits: Habits, at: datetime) -> int:
    """The net power at the meter in W; negative while more is exported than used.

    It moves around the mean of the half hour, with a kettle now and then.
    """
    half_hour = simulate_half_hour(habits, at)
    step = int(at.timestamp()) // _POWER_STEP_SECONDS
    random = Random(f"{habits.seed}:{step}")
    kettle = 2300.0 if half_hour.used > 0.2 and random.random() < 0.03 else 0.0
    used = half_hour.used * 2000 * random.uniform(0.72, 1.22) + kettle
    generated = (half_hour.exported + half_hour.used - half_hour.imported) * 2000 * random.uniform(0.9, 1.08)
    return round(used - generated)


def _seasonal_factor(day: date, *, warm: float, cold: float) -> float:
    """Between `cold` in mid January and `warm` in mid July."""
    return (cold + warm) / 2 + (cold - warm) / 2 * _winter_factor(day)


def _temperature(day: date) -> float:
    """The mean outdoor temperature of a day in degrees Celsius: 4.5 in mid January, 17 in mid July."""
    return 10.75 - 6.25 * _winter_factor(day)


def _winter_factor(day: date) -> float:
    """1 in mid January, -1 in mid July."""
    return math.cos(2 * math.pi * (day.timetuple().tm_yday - 15) / 365.25)


def _solar_power(peak: float, day: date, hour: float) -> float:
    """The power in kW of panels under a clear sky at 52 degrees north, by the sun's elevation."""
    if not peak:
        return 0.0
    declination = math.radians(-23.44) * math.cos(2 * math.pi * (day.timetuple().tm_yday + 10) / 365.25)
    latitude, hour_angle = math.radians(52), math.radians((hour - 12.5) * 15)
    elevation_sine = math.sin(latitude) * math.sin(declination) + math.cos(latitude) * math.cos(declination) * math.cos(
        hour_angle
    )
    return peak * math.pow(max(0.0, elevation_sine), 1.15)

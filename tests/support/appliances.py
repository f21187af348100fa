"""A day of a home's power by the minute, from the appliances that a family switches on. The same day every run."""

from random import Random

DAY_MINUTES = 24 * 60
EVENING = range(17 * 60, 22 * 60)
"""The minutes from 17:00 to 22:00."""

_KETTLE_MINUTES = (430, 465, 610, 780, 960, 1065, 1190, 1270)


def simulate_minutes(day: int) -> list[float]:
    """Return the power in W in each minute of a day: fridge, lights, kettle, oven, hob, dishwasher, washing machine."""
    random = Random(day)
    watts = [random.uniform(70, 130)] * DAY_MINUTES

    def run(start: float, minutes: int, power: float) -> None:
        for minute in range(max(0, int(start)), min(DAY_MINUTES, int(start) + minutes)):
            watts[minute] += power

    for start in range(random.randrange(45), DAY_MINUTES, 45):
        run(start, 18, 95)  # the fridge
    run(random.gauss(420, 15), 80, 120)  # breakfast
    run(random.gauss(1010, 20), 340, random.uniform(180, 320))  # lights and television
    for minute in _KETTLE_MINUTES:
        if random.random() < 0.75:
            run(random.gauss(minute, 15), random.choice((2, 3, 4)), 2900)
    dinner = random.gauss(1080, 20)
    for number in range(7) if random.random() < 0.55 else ():
        run(dinner + 6 * number, 3, 2200)  # the oven
    for number in range(5) if random.random() < 0.75 else ():
        run(dinner + 20 + 6 * number, 3, 1700)  # the hob
    if random.random() < 0.45:  # the dishwasher heats twice
        begin = random.gauss(1200, 25)
        run(begin, 16, 1950)
        run(begin + 60, 14, 1950)
    if random.random() < 0.35:
        begin = random.choice((600, 1140)) + random.gauss(0, 40)
        run(begin, 18, 2000)  # the washing machine
        run(begin + 18, 77, 180)
    return watts


def half_hours_of(minutes: list[float]) -> list[float]:
    """Return the mean power in W in each half hour of a day."""
    return [sum(minutes[start : start + 30]) / 30 for start in range(0, DAY_MINUTES, 30)]

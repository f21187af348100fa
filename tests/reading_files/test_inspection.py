"""The facts that an inspection finds in a file, and the questions that it leaves open."""

from datetime import UTC

import pytest

from wattgate.reading_files.inspection import Fit, describe_time, inspect_sample, option_words

ENGLISH = "Date,Consumption (kWh)\n{} 00:30,0.5\n{} 01:00,0.4\n"


def best_fit(text: str) -> Fit:
    return inspect_sample(text.encode(), is_whole=True, zone=UTC).fits[0]


@pytest.mark.parametrize(
    ("dates", "asked", "words"),
    [
        (("02/03/2026", "03/03/2026"), True, "--date-order day-first|month-first"),
        (("02-03-2026", "12-12-2026"), True, "--date-order day-first|month-first"),
        (("02/03/2026", "13/03/2026"), False, "--profile english-spreadsheet --times"),
        (("03/02/2026", "03/13/2026"), False, "--date-order month-first"),
    ],
)
def test_order_of_day_and_month_is_a_question_unless_a_date_shows_it(
    dates: tuple[str, str], asked: bool, words: str
) -> None:
    """The profile of English spreadsheets has the day first, and exports of other countries have its columns."""
    fit = best_fit(ENGLISH.format(*dates))
    assert fit.profile.name == "english-spreadsheet"
    assert any(question.option == "date_order" for question in fit.questions) is asked
    assert words in " ".join(option_words(fit))


def test_dates_with_points_have_the_day_first() -> None:
    fit = best_fit("Datum;Uhrzeit;Verbrauch (kWh)\n02.03.2026;00:00;0,5\n02.03.2026;00:15;0,4\n")
    assert "--date-order" not in option_words(fit)
    assert fit.first.startswith("2026-03-02")
    assert describe_time(fit) == "PT15M"


def test_days_between_two_readings_are_no_interval() -> None:
    assert describe_time(best_fit(ENGLISH.format("02/03/2026", "13/03/2026"))) == ""

"""The tariffs of a new home: a flat rate, or the lines of a file."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

from wattgate.app.homes.series import STORAGE_START
from wattgate.app.input_parser import InputParser, decode_object
from wattgate.db.models import Tariff
from wattgate.energy.costs.tariffs import rate_problems
from wattgate.energy.meters.meter_messages import ELECTRICITY
from wattgate.enums import TariffKind
from wattgate.errors import BadInput, Problem
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.readings.bulk_recorder import InvalidLine
from wattgate.operations.tariffs import build_tariff, set_tariff
from wattgate.operations.types.meters.tariffs import NewTariff
from wattgate.operations.vocabulary.arguments import Id

MAX_TARIFFS = 1_000
"""Maximum lines of a file of tariffs of one home."""

_TERMS = ("kind", "rate", "bands", "blocks", "block_period", "standing_charge", "vat_rate", "time_zone")


@dataclass(frozen=True, slots=True)
class RequestedTariff:
    """A tariff for the energy of a classifier, from an option. `terms` are its terms as they will be stored."""

    option: str
    classifier: str
    new_tariff: NewTariff
    terms: Tariff

    def has_terms_of(self, stored: Tariff) -> bool:
        """Return whether a stored tariff has the same terms."""
        return all(getattr(stored, name) == getattr(self.terms, name) for name in _TERMS)


def flat_tariff(unit_rate: str, standing_charge: str, zone: str, now: datetime) -> RequestedTariff:
    """Return a flat tariff for electricity that is valid for all readings. The prices include VAT, as on a bill.

    Raise BadInput, with the option at fault, if one of the prices is not a number or too large.
    """
    new_tariff = NewTariff(
        resource_id=Id(""),
        name="Flat rate",
        kind=TariffKind.FLAT,
        valid_from=datetime.fromisoformat(STORAGE_START),
        rate=_parse_pence(unit_rate, "--unit-rate"),
        standing_charge=_parse_pence(standing_charge, "--standing-charge"),
        time_zone=zone,
    )
    return RequestedTariff("--unit-rate", ELECTRICITY, new_tariff, build_tariff(new_tariff, "", now))


def parse_tariff_lines(
    lines: Iterable[tuple[int, str]], schema: Schema, classifiers: Iterable[str], zone: str, now: datetime
) -> list[RequestedTariff]:
    """Return the tariffs of the numbered lines of a file. Raise BadInput with the problems of all lines.

    A line has the members of NewTariff without `resourceId`, and `classifier` unless it is for electricity. The default
    of `timeZone` is the zone of the home.
    """
    parser, allowed = InputParser(schema, set_tariff, "input"), list(classifiers)
    tariffs: dict[tuple[str, datetime], RequestedTariff] = {}
    problems: list[Problem] = []
    for count, (number, text) in enumerate(lines, start=1):
        if count > MAX_TARIFFS:
            problems.append(Problem(("--tariff",), f"the file has more than {MAX_TARIFFS:,} tariffs"))
            break
        try:
            tariff = _parse_line(parser, text, allowed, zone, now)
            if tariffs.setdefault((tariff.classifier, tariff.terms.valid_from), tariff) is not tariff:
                raise InvalidLine("validFrom: another line has a tariff from the same instant")
        except InvalidLine as error:
            problems.append(Problem(("--tariff",), f"line {number}: {error}"))
    if not tariffs and not problems:
        problems.append(Problem(("--tariff",), "the file has no tariff"))
    if problems:
        raise BadInput("Invalid file of tariffs.", problems=problems)
    return list(tariffs.values())


def _parse_line(parser: InputParser, text: str, classifiers: list[str], zone: str, now: datetime) -> RequestedTariff:
    line = decode_object(text)
    if "kind" not in line:
        raise InvalidLine("has no `kind`. Set the prices of a dynamic tariff with `wattgate tariff import`")
    if "resourceId" in line:
        raise InvalidLine("has a `resourceId`. Use `classifier` instead, because the home is new")
    classifier = line.pop("classifier", ELECTRICITY)
    if classifier not in classifiers:
        raise InvalidLine(f"classifier: {classifier!r} is not one of the home: {', '.join(classifiers)}")
    new_tariff: NewTariff = parser.parse({"timeZone": zone, "source": "import", **line, "resourceId": ""})
    try:
        return RequestedTariff("--tariff", classifier, new_tariff, build_tariff(new_tariff, "", now))
    except BadInput as error:
        reasons = (f"{'.'.join(map(str, problem.path[1:]))}: {problem.message}" for problem in error.problems)
        raise InvalidLine("; ".join(reasons)) from None


def _parse_pence(text: str, option: str) -> Decimal:
    try:
        pence = Decimal(text)
    except InvalidOperation:
        raise BadInput("Invalid tariff.", problems=[Problem((option,), f"{text!r} is not a number of pence")]) from None
    if problem := next(rate_problems(pence), None):
        raise BadInput("Invalid tariff.", problems=[Problem((option,), problem.message)])
    return pence

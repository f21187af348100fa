"""Total energy and cost of a span of time. No I/O.

Energy is in billionths of its unit. Amounts are in 10^-23 hundredths of the currency, with VAT; see `pricing`.
"""

from collections.abc import Iterable
from decimal import Decimal

import msgspec

from wattgate.energy.costs.pricing import (
    PricedPart,
    current_block_rate,
    round_scaled,
    split_by_block,
    to_decimal,
)
from wattgate.energy.costs.timeline import ENERGY_DECIMALS, VAT_DECIMALS, BlockRates, Rate
from wattgate.energy.quantities import STORED_DECIMALS, Money, decimals_of

VALUE_DECIMALS = 3


class EnergyTotal(msgspec.Struct, frozen=True, gc=False):
    """Energy of a span and its cost. `unpriced` is the part of the energy that has no price.

    `has_energy` is false until something is counted, and `has_price` is false until some of it has a price.
    """

    energy: int = 0
    amount: int = 0
    unpriced: int = 0
    has_energy: bool = False
    has_price: bool = False
    estimated: bool = False

    def add_parts(self, parts: Iterable[PricedPart]) -> "EnergyTotal":
        """Return the total with more priced energy."""
        energy, amount, unpriced = self.energy, self.amount, self.unpriced
        has_energy, has_price, estimated = self.has_energy, self.has_price, self.estimated
        for _, part_energy, part_estimated, charge, rate in parts:
            energy, has_energy, estimated = energy + part_energy, True, estimated or part_estimated
            if charge is None:
                unpriced += part_energy
            else:
                amount, has_price = amount + part_energy * charge.price(rate), True
        return EnergyTotal(energy, amount, unpriced, has_energy, has_price, estimated)

    def __add__(self, other: "EnergyTotal") -> "EnergyTotal":
        return EnergyTotal(
            self.energy + other.energy,
            self.amount + other.amount,
            self.unpriced + other.unpriced,
            self.has_energy or other.has_energy,
            self.has_price or other.has_price,
            self.estimated or other.estimated,
        )

    @property
    def value(self) -> Decimal | None:
        """The energy, rounded for output; None if nothing was counted."""
        return round_scaled(self.energy, ENERGY_DECIMALS, VALUE_DECIMALS) if self.has_energy else None

    @property
    def unpriced_energy(self) -> Decimal:
        return to_decimal(self.unpriced, ENERGY_DECIMALS) if self.unpriced else Decimal(0)


def to_money(amount: int, currency: str) -> Money:
    """Return an amount as money, rounded to the minor unit of the currency."""
    return Money(round_scaled(amount, VAT_DECIMALS + STORED_DECIMALS, decimals_of(currency)), currency)


def estimated_parts(at: int, energy: int, rule: Rate | BlockRates | None, counted: int) -> list[PricedPart]:
    """Return estimated energy as priced parts. `counted` is the earlier energy in a block tariff's period."""
    if rule is None:
        return [PricedPart(at, energy, True, None, 0)]
    if isinstance(rule, Rate):
        return [PricedPart(at, energy, True, *rule)]
    return [PricedPart(at, part, True, *rate) for part, rate in split_by_block(energy, counted, rule)]


def marginal_rate(rule: Rate | BlockRates | None, counted: int) -> Rate | None:
    """Return the rate of the next unit of energy. `counted` is the energy so far in a block tariff's period."""
    return current_block_rate(counted, rule) if isinstance(rule, BlockRates) else rule

"""What a meter has counted in a span of time, and what that costs. Pure.

Energy is in billionths of its unit, amounts in 10^-23 pence with VAT; see `pricing`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from wattgate.energy.pricing import VAT_DECIMALS, WHOLE, Piece, exactly, reached, rounded, split
from wattgate.energy.timeline import ENERGY_DECIMALS, Blocks, Rate

VALUE_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Tally:
    """`known` is whether anything was counted at all, `priced` whether any of it has a price."""

    energy: int = 0
    amount: int = 0
    unpriced: int = 0
    known: bool = False
    priced: bool = False
    estimated: bool = False

    def plus(self, pieces: Iterable[Piece]) -> "Tally":
        """With further energy, as it is priced."""
        energy, amount, unpriced = self.energy, self.amount, self.unpriced
        known, priced, estimated = self.known, self.priced, self.estimated
        for _, some, guessed, charge, rate in pieces:
            energy, known, estimated = energy + some, True, estimated or guessed
            if charge is None:
                unpriced += some
            else:
                amount, priced = amount + some * rate * (WHOLE + charge.vat), True
        return Tally(energy, amount, unpriced, known, priced, estimated)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.energy + other.energy,
            self.amount + other.amount,
            self.unpriced + other.unpriced,
            self.known or other.known,
            self.priced or other.priced,
            self.estimated or other.estimated,
        )

    @property
    def value(self) -> Decimal | None:
        """The energy as it is told; None where nothing was counted."""
        return rounded(exactly(self.energy, ENERGY_DECIMALS), VALUE_DECIMALS) if self.known else None

    @property
    def pence(self) -> Decimal:
        return exactly(self.amount, VAT_DECIMALS)

    @property
    def unpriced_energy(self) -> Decimal:
        return exactly(self.unpriced, ENERGY_DECIMALS)


def pieces_of(at: int, energy: int, rule: Rate | Blocks | None, counted: int) -> list[Piece]:
    """Energy that is estimated, priced on top of what a block tariff has counted before."""
    if rule is None:
        return [Piece(at, energy, True, None, 0)]
    if isinstance(rule, Rate):
        return [Piece(at, energy, True, *rule)]
    return [Piece(at, part, True, *rate) for part, rate in split(energy, counted, rule)]


def holding(rule: Rate | Blocks | None, counted: int) -> Rate | None:
    """The rate of what comes next, after so much energy of a block tariff's period."""
    return reached(counted, rule) if isinstance(rule, Blocks) else rule

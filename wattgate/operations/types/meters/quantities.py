"""GraphQL types of money, rates, energy and power: numbers with their unit."""

from decimal import Decimal

import strawberry

from wattgate.enums import EnergyUnit, PowerUnit, RateUnit
from wattgate.operations.vocabulary.scalars import Currency


@strawberry.type(description="Amount of money.")
class Money:
    amount: Decimal = strawberry.field(
        description="Amount in the major unit of the currency, such as pounds. It is exact, or rounded as the field "
        "says."
    )
    currency: Currency = strawberry.field(description="Currency of the amount.")


@strawberry.type(description="Price of a unit of energy or time. The name of a field with VAT ends in `WithVat`.")
class Rate:
    amount: Decimal = strawberry.field(
        description="Amount in the major unit of the currency, such as pounds, for one unit."
    )
    currency: Currency = strawberry.field(description="Currency of the amount.")
    per: RateUnit = strawberry.field(description="Unit that the amount is the price of.")


@strawberry.type(description="Amount of energy, or of the gas that has it.")
class Energy:
    value: Decimal = strawberry.field(description="Amount, in the unit.")
    unit: EnergyUnit = strawberry.field(description="Unit of the amount.")


@strawberry.type(description="Power.")
class Power:
    value: float = strawberry.field(description="Power, in the unit.")
    unit: PowerUnit = strawberry.field(description="Unit of the power.")

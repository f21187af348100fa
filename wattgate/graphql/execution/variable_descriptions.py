"""Descriptions of the types of variables."""

from collections.abc import Mapping
from types import MappingProxyType

VARIABLE_TYPE_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "VariableType.TEXT": "A text.",
        "VariableType.NUMBER": "A number, as JSON number or as text. Written with at most two decimal places.",
        "VariableType.ENERGY": "Energy in Wh, kWh or MWh. Written in kWh with two decimal places.",
        "VariableType.POWER": "Power in W or kW. Written in whole W, or from 10 kW on in kW.",
        "VariableType.MONEY": "An amount of money. Written with the decimal places of its currency.",
        "VariableType.PERCENTAGE": "A percentage: 12.5 is 12.5 %.",
        "VariableType.INSTANT": "An instant in ISO 8601 with a UTC offset. Written in the time zone of the home.",
        "VariableType.DATE": "A calendar date, such as 2026-01-05.",
        "VariableType.BOOLEAN": "True or false.",
        "VariableType.URL": "A web address that begins with https:// or http://.",
        "VariableType.LIST": "A list. Its items may have variables, such as days[].use.",
    }
)

"""Scope of a rendering, besides its source and data: the contract, the culture, the zone, and the kind of message."""

import msgspec

from wattgate.delivery.templates.language.contract import Contract
from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE
from wattgate.delivery.templates.language.formatting import Formats


class RenderScope(msgspec.Struct, frozen=True):
    """The contract of the alert type, or None if none is known, and how numbers and times are written.

    `can_unsubscribe` says whether the message is a mail whose recipients may stop such mails.
    """

    contract: Contract | None = None
    culture: str = DEFAULT_CULTURE
    time_zone: str = "UTC"
    can_unsubscribe: bool = False

    @property
    def formats(self) -> Formats:
        return Formats(self.culture, self.time_zone)


DEFAULT_SCOPE = RenderScope()

"""The policy of the operator for the data of meter points without a valid consent."""

from typing import NamedTuple


class ConsentPolicy(NamedTuple):
    """Two settings of the gateway.

    `is_required` says whether data of a meter point without a recorded consent is withheld. `stores_without` says
    whether readings of a time without a valid consent are stored.
    """

    is_required: bool = True
    stores_without: bool = False


DEFAULT_CONSENT_POLICY = ConsentPolicy()

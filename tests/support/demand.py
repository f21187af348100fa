"""A row of the registry of demanding functions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """Call sites with the same bound and charge.

    `bound` and `charge` are names in the package, as `module:name`. Each may also be the reason why there is none,
    which begins with "none:".
    """

    bound: str
    charge: str
    sites: tuple[str, ...]

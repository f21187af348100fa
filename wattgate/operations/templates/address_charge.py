"""The charge of a client address for measured work that a caller without credentials causes, such as renderings."""

from wattgate.operations.vocabulary.cost_weights import render_units
from wattgate.requests.client import AddressLimiter, AddressPolicy, Client

UNITS_PER_ATTEMPT = 400
"""Units of measured work that one attempt pays for: 12 ms of a processor.

With the default of 120 attempts a minute, an address uses as much of a processor as a login: 2.4 %.
"""


class AddressCharge:
    """Charge the measured work of one operation to a client address, as further attempts of the operation's policy.

    The operation itself has charged one attempt already, and that one pays for the first units. See `WorkCharge`.
    """

    def __init__(self, limits: AddressLimiter, policy: AddressPolicy, client: Client) -> None:
        self._limits = limits
        self._policy = policy
        self._client = client
        self._units = 0

    async def add_units(self, units: int) -> None:
        """Charge units before their work begins. Raise RateLimited if earlier work has used up the attempts."""
        await self.check_work()
        await self.add_done(units)

    async def add_done(self, units: int) -> None:
        """Charge units of work that is done, also above the remaining attempts of the address."""
        charged = self._units // UNITS_PER_ATTEMPT
        self._units += units
        await self._limits.charge_done(self._policy, self._client, self._units // UNITS_PER_ATTEMPT - charged)

    async def check_work(self) -> None:
        """Raise RateLimited if earlier work has used more attempts than the address may use."""
        await self._limits.check(self._policy, self._client)

    async def add_work(self, seconds: float) -> None:
        """Charge the processor time of a rendering that is done, also above the remaining attempts of the address."""
        await self.add_done(render_units(seconds))

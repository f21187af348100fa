"""The charge of a streamed upload: for read bytes and lines, refused lines, and stored batches. None of it is free."""

from wattgate.rest_compat.call_charge import CallCharge

BYTES_PER_UNIT = 1_024
"""Bytes of an upload that cost one unit, whatever they contain. A usual line has 100 bytes."""

LINES_PER_UNIT = 64
"""Lines of an upload that cost one unit, empty ones too."""

REFUSED_LINES_PER_UNIT = 2
"""Lines without a valid reading that cost one unit: each is parsed on its own, and has a reason."""

PORTION = 100
"""Units of reading that are charged at once. A call pays as much before it reads, as the cost of a mutation."""


class UploadCharge:
    """Charge a caller for the parts of an upload.

    Reading and storing have prices for the same lines, so the higher one counts. Refused lines are charged besides.
    """

    def __init__(self, charge: CallCharge) -> None:
        self._charge = charge
        self._read_bytes = 0
        self._read_lines = 0
        self._refused_lines = 0
        self._stored_units = 0
        self._paid = 0

    @property
    def total(self) -> int:
        """The cost of all parts so far, in units."""
        read = self._read_bytes // BYTES_PER_UNIT + self._read_lines // LINES_PER_UNIT
        return max(read, self._stored_units) + self._refused_lines // REFUSED_LINES_PER_UNIT

    async def add_work(self, size: int, lines: int, refused: int) -> None:
        """Charge bytes and lines that are read, and lines that are refused. Wait for the budget if necessary.

        Raise RateLimited as `CallCharge.add_paced` does.
        """
        self._read_bytes += size
        self._read_lines += lines
        self._refused_lines += refused
        if self.total - self._paid >= PORTION:
            await self._pay()

    async def add_paced(self, cost: int) -> None:
        """Charge a batch before it is stored, as `CallCharge.add_paced` does."""
        self._stored_units += cost
        await self._pay()

    async def _pay(self) -> None:
        missing = self.total - self._paid
        self._paid += missing  # before the wait: a batch is stored while the next one is read
        await self._charge.add_paced(missing)

"""Stored readings as an Apache Arrow IPC stream: columns timestamp (ms, UTC), value and field; a batch for each page.

https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from collections.abc import AsyncIterator

import pyarrow as pa

from wattgate.clock import to_ms
from wattgate.db.storage import fields_of
from wattgate.graphql.resolvers.raw_readings import RawReadings
from wattgate.rest_compat.exchange import Again, Answer

SCHEMA = pa.schema(
    [
        pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("field", pa.string(), nullable=False),
    ]
)
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


async def stream(answer: Answer, again: Again) -> AsyncIterator[bytes]:
    """The readings of the one field that the query names, or of all fields one after another.

    One page at a time is held; a stream that breaks off has no end marker, which readers tell as an error.
    """
    page: RawReadings = answer.result
    named = "field" in answer.exchange.query
    further = [] if named else [field.name for field in fields_of(page.resource.storage)[1:]]
    yield SCHEMA.serialize().to_pybytes()
    while True:
        if page.at:
            yield _batch(page)
        if page.next is not None:
            page = await again(field=page.field, start=page.next)
        elif further:
            page = await again(field=further.pop(0))
        else:
            break
    yield END_OF_STREAM


def _batch(page: RawReadings) -> bytes:
    instants = pa.array([to_ms(at) for at in page.at], pa.int64()).cast(SCHEMA.field("timestamp").type)
    columns = [instants, pa.array(page.value, pa.float64()), pa.repeat(page.field, len(page.at))]
    return bytes(pa.record_batch(columns, schema=SCHEMA).serialize())

"""Measure the peak memory of a CSV import of readings in a separate process.

`python -m tests.support.weighing DATABASE_URL APPLICATION RESOURCE LINES...` prints a JSON list with the peak in bytes
for each number of lines.
"""

import asyncio
import gc
import io
import json
import sys
import tracemalloc
from datetime import UTC, datetime, timedelta

from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.operations.readings import bulk_recorder
from wattgate.operations.readings.files.file_import import import_csv
from wattgate.principal import Principal, Role

START = datetime(2025, 1, 1, tzinfo=UTC)


def collect(line: int) -> None:
    """Collect garbage, so that the peak contains only live objects."""
    gc.collect()


async def main(url: str, application_id: str, resource_id: str, *counts: str) -> None:
    """Import files with these numbers of lines and print the peaks."""
    bulk_recorder.BATCH_SIZE = 1_000
    gateway = build_gateway(Settings(_env_file=None, database_url=url))
    gc.freeze()  # modules stay in use: a collection that visits them takes a tenth of a second each time
    peaks = []
    for count in map(int, counts):
        lines = [f"{(START + timedelta(seconds=n)).isoformat()},{n % 500},POWER" for n in range(count)]
        content = "\n".join(["at,value,field", *lines]).encode()
        del lines
        tracemalloc.start()
        report = await import_csv(
            io.BytesIO(content),
            run=gateway.runner.run_as(Principal(Role.SYSTEM, application_id=application_id)),
            resource_id=resource_id,
            zone=UTC,
            refuse=lambda line, reason: None,
            progress=collect,
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert report.recorded == count
    await gateway.database.close()
    sys.stdout.write(json.dumps(peaks))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

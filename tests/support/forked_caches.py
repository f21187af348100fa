"""Fill the caches of a process that forks gateways: importing this module builds the schema and the OpenAPI document.

A gateway builds both once for its process. It takes half of the processor time of its start.
"""

import gc

from wattgate.app.server.factory import _openapi_answer
from wattgate.app.server.schema import gateway_schema
from wattgate.app.settings import Settings

settings = Settings(_env_file=None)
_openapi_answer(gateway_schema(settings), settings.base_path)

gc.collect()
gc.freeze()  # forked processes do not look at these objects again, which would copy their memory

"""Fill the caches of a process that forks gateways: the schema, the OpenAPI document and the commands.

A gateway builds the first two once for its process. It takes half of the processor time of its start.
"""

import gc

from tests.support.command_tree import COMMANDS
from wattgate.app.server.factory import _openapi_answer
from wattgate.app.server.schema import gateway_schema
from wattgate.app.settings import Settings

settings = Settings(_env_file=None)
_openapi_answer(gateway_schema(settings), settings.base_path)

assert COMMANDS  # built by its module

gc.collect()
gc.freeze()  # forked processes do not look at these objects again, which would copy their memory

"""The environment of Alembic. `db.migrate` passes the connection in the attributes of the configuration."""

import re

from alembic import context
from sqlmodel import SQLModel

from wattgate.db import models

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    compare_type=True,
    render_as_batch=connection.dialect.name == "sqlite",
    # the gateway creates the monthly partitions of readings at run time (db/readings/partitions.py)
    include_name=lambda name, kind, parents: kind != "table" or not re.fullmatch(r"reading_\d{4}_\d{2}", name or ""),
)
assert models.__all__  # imported so that the metadata is complete

with context.begin_transaction():
    context.run_migrations()

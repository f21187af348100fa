"""All models of records that belong to an application."""

from collections.abc import Iterator

from wattgate.db import models
from wattgate.db.models import Tenanted


def tenanted_models(base: type[Tenanted] = models.Tenanted) -> Iterator[type[Tenanted]]:
    """Yield the models with a table."""
    for model in base.__subclasses__():
        if hasattr(model, "__table__"):
            yield model
        yield from tenanted_models(model)

"""Each call of a demanding function has a bound and a charge: the registry has a row for it."""

import ast
import importlib
from functools import reduce

from tests.support.demanding_calls import call_sites, sites_in
from tests.support.demanding_functions import DEMANDS

REGISTERED = [site for demand in DEMANDS for site in demand.sites]


def test_every_call_of_a_demanding_function_has_a_row() -> None:
    missing = sorted(call_sites() - {*REGISTERED})
    assert missing == [], "name the bound and the charge of the call in tests/support/demanding_functions.py"


def test_every_row_has_a_call_and_no_call_two_rows() -> None:
    assert sorted({*REGISTERED} - call_sites()) == []
    assert len(REGISTERED) == len({*REGISTERED})


def test_every_named_bound_and_charge_exists() -> None:
    named = {place for demand in DEMANDS for place in (demand.bound, demand.charge) if not place.startswith("none: ")}
    missing = [place for place in sorted(named) if not _exists(place)]
    assert missing == []


def _exists(place: str) -> bool:
    module, _, name = place.partition(":")
    try:
        reduce(getattr, name.split("."), importlib.import_module(f"wattgate.{module}"))
    except (ImportError, AttributeError):
        return False
    return True


def test_new_calls_are_noticed() -> None:
    source = """
async def serve(body):
    await asyncio.to_thread(gzip.compress, body)
    call.templates.render(body)
    schema.validate(body)
    _NEW_DECODER.decode(body)
    text.decode()
    METHOD.encode()
    _NEW_ENCODER.encode(body)
    orjson.dumps(body)
    ip_address(body)
    sorted(body)
    self._threads.submit(HASHER.hash)
"""
    assert sorted(sites_in("module", ast.parse(source))) == [
        "module:serve calls HASHER.hash",
        "module:serve calls _NEW_DECODER.decode",
        "module:serve calls _NEW_ENCODER.encode",
        "module:serve calls gzip.compress",
        "module:serve calls ip_address",
        "module:serve calls orjson.dumps",
        "module:serve calls sorted",
        "module:serve calls templates.render",
    ]

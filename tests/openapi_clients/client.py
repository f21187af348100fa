"""A client that openapi-python-client generates: log in, read, write, and meet an error."""

import importlib
import json
import pkgutil
import sys
from http import HTTPStatus

import wattgate_client
from wattgate_client import AuthenticatedClient, Client
from wattgate_client.api.homes import update_virtual_entity, virtual_entities, virtual_entity
from wattgate_client.api.login import authenticate
from wattgate_client.api.resources_and_readings import readings, resource_tariff, resources
from wattgate_client.models import (
    AuthenticateRequest,
    Error,
    Function,
    Login,
    Period,
    ReadingsEnvelope,
    TariffEnvelope,
    VirtualEntityAcknowledgement,
    VirtualEntityChange,
)


def main(base_url: str, username: str, password: str, application_id: str) -> None:
    """Call the gateway and print the results as JSON."""
    modules = [module.name for module in pkgutil.walk_packages(wattgate_client.__path__, "wattgate_client.")]
    for name in modules:
        importlib.import_module(name)
    body = AuthenticateRequest(username=username, password=password)
    login = authenticate.sync(client=Client(base_url), body=body, application_id=application_id)
    assert isinstance(login, Login), login
    client = AuthenticatedClient(base_url, token=login.token, prefix="", auth_header_name="token")
    homes = virtual_entities.sync(client=client)
    assert isinstance(homes, list)
    home = homes[0]
    resource_id = str(home.resources[0].resource_id)
    listed = resources.sync(client=client)
    assert isinstance(listed, list)
    series = readings.sync(
        resource_id,
        client=client,
        from_="2026-01-05T00:00:00",
        to="2026-01-05T01:59:59",
        period=Period.PT30M,
        function=Function.SUM,
    )
    assert isinstance(series, ReadingsEnvelope), series
    tariff = resource_tariff.sync(resource_id, client=client)
    assert isinstance(tariff, TariffEnvelope), tariff
    standing = [part.standing for part in tariff.data[0].plan[0].plan_detail if part.standing]
    change = VirtualEntityChange(name="Written by openapi-python-client")
    written = update_virtual_entity.sync(str(home.ve_id), client=client, body=change)
    assert isinstance(written, VirtualEntityAcknowledgement), written
    missing = virtual_entity.sync_detailed("nope", client=client)
    assert isinstance(missing.parsed, Error)
    homes_response = virtual_entities.sync_detailed(client=client)
    results = {
        "home": home.name,
        "resources": len(listed),
        "readings": [value for _, value in series.data],
        "units": series.units,
        "standing": standing[0],
        "written": written.ve_id == home.ve_id,
        "status": HTTPStatus(missing.status_code).value,
        "code": missing.parsed.code.value,
        "operation": homes_response.headers["x-graphql-operation"],
    }
    sys.stdout.write(json.dumps(results) + "\n")


main(*sys.argv[1:])

"""New users of a tenant's application, each with credentials and without records."""

from uuid import uuid4

from tests.support.house import PASSWORD, Tenant, basic
from wattgate.operations.accounts import provisioning
from wattgate.operations.credentials import tokens
from wattgate.principal import Principal, Role


async def resident(tenant: Tenant, *, template_editor: bool = False) -> Tenant:
    """Add a user to the application of a tenant. Return it as a tenant that shares the application's records."""
    username = f"{uuid4().hex}@resident.example"
    run = tenant.gateway.runner.run
    user = {"username": username, "password": PASSWORD, "template_editor": template_editor}
    created = await run(provisioning.create_user, tenant.system, user)
    login = await run(
        tokens.authenticate,
        Principal(Role.ANONYMOUS),
        {"application_id": tenant.application_id, "username": username, "password": PASSWORD},
    )
    headers = {
        "account": {"token": login.token},
        "account basic": {**basic(username, PASSWORD), "applicationId": tenant.application_id},
        "application": tenant.headers["application"],
        "administrator": tenant.headers["administrator"],
        "acting": {**tenant.headers["application"], "userId": created.user_id},
    }
    return Tenant(
        tenant.gateway,
        tenant.application_id,
        created.user_id,
        created.account_id,
        username,
        headers,
        {name: tenant.ids[name] for name in ("resource_type", "virtual_entity_type", "device_type", "alert_type")},
    )

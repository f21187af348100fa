"""The audit log: which acts it records, what it leaves out, and that nobody can change it unnoticed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from strawberry import ID

from tests.support.endings import set_account_columns
from tests.support.house import House, Tenant, house, operation, settle_without_records
from tests.support.servers import Databases
from wattgate.app.server.factory import Gateway
from wattgate.db.audit_chain import FIRST_DIGEST, ChainCheck
from wattgate.db.change_recorder import MAX_CHANGES, REDACTED, ChangeRecorder, redact
from wattgate.db.models import User
from wattgate.errors import BadInput, Forbidden, GatewayError
from wattgate.operations.accounts import audit, provisioning
from wattgate.operations.catalogue import OPERATIONS, SYSTEM_OPERATIONS
from wattgate.operations.core.operation import Call, OperationKind
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.types.messages import webhooks as endpoint_types
from wattgate.principal import AuthScheme, Permission, Principal, Role

pytestmark = pytest.mark.both_databases("locks and claims differ between databases")

FAQ = {"reference": "audit", "version": "1", "minimumVersion": "1", "country": "GB", "data": []}
PASSWORD = "a secret that nobody may read"


@pytest.fixture(scope="module")
async def home(databases: Databases) -> AsyncIterator[House]:
    """A served gateway on each engine, whose audit logs the tests tamper with."""
    async with databases() as url, house(url) as house_with_tenants:
        for tenant in (house_with_tenants.one, house_with_tenants.other):
            await set_account_columns(tenant, tenant.account_id, administrator=True)
        yield house_with_tenants


async def settle_administrator(gateway: Gateway, name: str) -> Tenant:
    """Create a tenant whose account is an administrator, without records."""
    tenant = await settle_without_records(gateway, name)
    await set_account_columns(tenant, tenant.account_id, administrator=True)
    return tenant


def administrator(tenant: Tenant) -> Principal:
    return Principal(
        Role.ADMINISTRATOR,
        AuthScheme.TOKEN,
        application_id=tenant.application_id,
        user_id=tenant.user_id,
        account_id=tenant.account_id,
    )


async def entries_of(tenant: Tenant, after: int = 0) -> list[Any]:
    entries: list[Any] = await tenant.gateway.runner.run(
        audit.audit_log, tenant.system, {"first": audit.MAX_ENTRIES, "after": after}
    )
    return entries


async def last_sequence(tenant: Tenant) -> int:
    sequence, entries = 0, [1]
    while entries:
        entries = await entries_of(tenant, sequence)
        sequence = entries[-1].sequence if entries else sequence  # type: ignore[attr-defined]
    return sequence


async def check(tenant: Tenant) -> ChainCheck:
    result: ChainCheck = await tenant.gateway.runner.run(audit.check_audit_log, tenant.system, {})
    return result


async def execute(tenant: Tenant, *statements: str, **parameters: Any) -> None:
    async with tenant.gateway.database.engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement), {"application": tenant.application_id, **parameters})


async def add_endpoint(tenant: Tenant, principal: Principal) -> str:
    """Add a webhook endpoint and return its id."""
    new = endpoint_types.NewWebhookEndpoint(url="https://hooks.example/secret-path", events=["alert.*"])
    added = await tenant.gateway.runner.run(operation("add_webhook_endpoint"), principal, {"input": new})
    return str(added.endpoint.endpoint_id)


def test_every_mutation_is_audited_or_has_a_reason() -> None:
    operations = (*OPERATIONS, *SYSTEM_OPERATIONS)
    assert not [each.name for each in operations if (each.kind is OperationKind.MUTATION) is (each.audit is None)]

    async def change_nothing(call: Call) -> None: ...

    with pytest.raises(TypeError, match="The mutation change_nothing has no `audit`"):
        declare(OperationKind.MUTATION, returns=None, needs=Permission.USER_WRITE)(change_nothing)


def test_no_operation_changes_the_audit_log() -> None:
    about = {
        candidate.name: candidate.kind for candidate in (*OPERATIONS, *SYSTEM_OPERATIONS) if "audit" in candidate.name
    }
    assert set(about.values()) == {OperationKind.QUERY}


async def test_an_act_of_an_administrator_leaves_an_entry(home: House) -> None:
    tenant, runner = home.one, home.gateway.runner
    before = await last_sequence(tenant)
    principal = await tenant.gateway.authenticator.authenticate(tenant.headers["account"])
    endpoint_id = await add_endpoint(tenant, principal)
    arguments = {"endpoint_id": ID(endpoint_id)}
    await runner.run(operation("delete_webhook_endpoint"), principal, arguments)
    added, deleted = await entries_of(tenant, before)
    assert (added.operation, deleted.operation) == ("createWebhookEndpoint", "deleteWebhookEndpoint")
    assert added.actor == {
        "role": "administrator",
        "scheme": "token",
        "accountId": tenant.account_id,
        "userId": tenant.user_id,
        "tokenId": principal.token_id,
        "credential": None,
    }
    assert deleted.target == {"endpointId": endpoint_id}
    assert added.changes[0]["id"] == endpoint_id
    assert added.changes[0]["before"] is None
    assert deleted.changes[0]["id"] == endpoint_id
    assert (deleted.sequence, deleted.previous_digest) == (added.sequence + 1, added.digest)
    assert "secret-path" not in str(added.changes) + str(deleted.changes)


async def test_a_change_has_the_values_before_and_after_without_secrets(home: House) -> None:
    tenant, runner = home.one, home.gateway.runner
    before = await last_sequence(tenant)
    type_id = ID(tenant.ids["resource_type"])
    for days in (30, 60):
        arguments = {"resource_type_id": type_id, "retention_days": days}
        await runner.run(operation("set_retention"), administrator(tenant), arguments)
    account = account_types.NewAccount(username="audited@one.example", password=PASSWORD, email="audited@one.example")
    added = await runner.run(operation("add_account"), administrator(tenant), {"input": account})
    _, second, third = await entries_of(tenant, before)
    assert second.changes == [
        {"record": "resource type", "id": type_id, "before": {"retention_days": 30}, "after": {"retention_days": 60}}
    ]
    values = third.changes[0]["after"]
    assert (values["account_id"], values["username"], values["email"]) == (added.account_id, REDACTED, REDACTED)
    assert values["password_hash"] == REDACTED
    assert PASSWORD not in str(third.changes)


async def test_users_are_not_audited_for_their_own_records_but_others_are(home: House) -> None:
    tenant, runner = home.one, home.gateway.runner
    before = await last_sequence(tenant)
    await runner.run(operation("change_name"), tenant.account, {"name": "Ada"})
    assert await entries_of(tenant, before) == []
    await runner.run(operation("change_name"), administrator(tenant), {"name": "Grace"})
    (entry,) = await entries_of(tenant, before)
    assert (entry.operation, entry.actor["role"]) == ("changeName", "administrator")


async def test_a_template_editor_is_audited_for_templates_and_not_for_its_own_account(home: House) -> None:
    tenant, before = home.one, await last_sequence(home.one)
    editor = Principal(
        Role.TEMPLATE_EDITOR,
        application_id=tenant.application_id,
        user_id=tenant.user_id,
        account_id=tenant.account_id,
    )
    await home.gateway.runner.run(operation("change_name"), editor, {"name": "Ada"})
    assert await entries_of(tenant, before) == []
    arguments = {"template_id": tenant.ids["template"], "version": 1}
    await home.gateway.runner.run(operation("publish_template"), editor, arguments)
    (entry,) = await entries_of(tenant, before)
    assert (entry.operation, entry.actor["role"]) == ("publishTemplate", "template_editor")


async def test_a_failed_act_leaves_no_entry(home: House) -> None:
    tenant, before = home.one, await last_sequence(home.one)
    with pytest.raises(GatewayError):
        await home.gateway.runner.run(operation("delete_user"), administrator(tenant), {"user_id": ID("unknown")})
    assert await entries_of(tenant, before) == []


async def test_a_request_has_its_credential_trace_and_address(home: House) -> None:
    tenant = home.one
    before = await last_sequence(tenant)
    headers = {**tenant.headers["application"], "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}
    response = await home.http.post(f"{home.rest}/faq", json=FAQ, headers=headers)
    assert response.is_success, response.text
    (entry,) = await entries_of(tenant, before)
    assert entry.operation == "createFaq"
    assert (entry.actor["role"], entry.actor["credential"]) == ("application", "one-app")
    assert (entry.trace_id, entry.client_address) == ("ab" * 16, "127.0.0.1")


@pytest.mark.parametrize("client", ["203.0.113.7", "2001:db8:1:2:3:4:5:6"])
async def test_an_entry_has_the_address_of_the_client_behind_a_trusted_proxy(databases: Databases, client: str) -> None:
    async with databases() as url, house(url, trusted_proxies=["127.0.0.0/8"]) as proxied:
        before = await last_sequence(proxied.one)
        headers = {**proxied.one.headers["application"], "x-forwarded-for": client}
        response = await proxied.http.post(f"{proxied.rest}/faq", json=FAQ, headers=headers)
        assert response.is_success, response.text
        (entry,) = await entries_of(proxied.one, before)
        assert entry.client_address == client


async def test_a_new_application_has_the_first_entry(home: House) -> None:
    (first, *_) = await entries_of(home.one)
    assert (first.sequence, first.operation, first.previous_digest) == (1, "createApplication", FIRST_DIGEST)
    assert first.actor["role"] == "system"


async def test_a_new_secret_from_the_operator_leaves_an_entry(home: House) -> None:
    tenant = await settle_administrator(home.gateway, "rotated")
    before = await last_sequence(tenant)
    rotate = provisioning.rotate_application_secret
    await home.gateway.runner.run(rotate, Principal(Role.SYSTEM), {"username": "rotated-app"})
    (entry,) = await entries_of(tenant, before)
    assert entry.operation == "rotateApplicationSecret"
    (change,) = entry.changes
    assert (change["record"], change["id"], change["after"]) == (
        "application_credential",
        "rotated-app",
        {"secret_digest": REDACTED},
    )


async def test_the_log_is_for_administrators_and_applications_of_the_same_application(home: House) -> None:
    await add_endpoint(home.one, administrator(home.one))
    response = await home.http.get(f"{home.rest}/auditlog", headers=home.one.headers["application"])
    listed = response.json()
    assert response.status_code == 200
    assert listed
    assert {entry["applicationId"] for entry in listed} == {home.one.application_id}
    with pytest.raises(Forbidden):
        await home.gateway.runner.run(audit.audit_log, home.one.account, {})
    with pytest.raises(BadInput):
        await home.gateway.runner.run(audit.audit_log, home.one.system, {"first": audit.MAX_ENTRIES + 1})


LOG = """{ application { auditLog(last: 1) { edges { node {
  operation actor { role scheme userId credential } targets { argument ids }
  changes { record id before after } omittedChanges } } } } }"""


async def test_both_interfaces_have_the_same_parts_of_an_entry(home: House) -> None:
    """GraphQL has types for them, and REST the JSON objects of earlier gateways."""
    one, headers = home.one, home.one.headers["application"]
    await one.run("update_account", account_id=one.account_id, input=account_types.AccountChange(name="Ada"))
    (edge,) = (await home.graphql(LOG, headers))["data"]["application"]["auditLog"]["edges"]
    last = (await entries_of(one))[-1]
    path = f"/auditlog?after={last.sequence - 1}"
    (row,) = (await home.call("GET", path, headers)).json()
    entry = edge["node"]
    assert entry["operation"] == row["operation"] == "updateAccount"
    assert entry["actor"] == {name: row["actor"][name] for name in entry["actor"]}
    assert {target["argument"]: target["ids"] for target in entry["targets"]} == {"accountId": [one.account_id]}
    assert row["target"] == {"accountId": one.account_id}
    assert entry["changes"] == row["changes"] != []
    assert entry["omittedChanges"] == 0


async def test_concurrent_acts_form_one_chain(home: House) -> None:
    tenant = home.one
    before = await last_sequence(tenant)
    await asyncio.gather(*(add_endpoint(tenant, administrator(tenant)) for _ in range(12)))
    entries = await entries_of(tenant, before)
    assert [entry.sequence for entry in entries] == list(range(before + 1, before + 13))
    assert (await check(tenant)).problems == []


async def test_an_entry_does_not_hold_up_other_applications(home: House) -> None:
    """The lock is that of one application: another one's act ends while the first transaction is open."""
    if home.gateway.database.is_sqlite:
        return  # one transaction writes at a time there
    async with home.gateway.database.engine.begin() as connection:
        locked = "SELECT sequence FROM audit_head WHERE application_id = :application FOR UPDATE"
        await connection.execute(text(locked), {"application": home.one.application_id})
        async with asyncio.timeout(60):
            await add_endpoint(home.other, administrator(home.other))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET operation = 'other' WHERE application_id = :application",
        "UPDATE audit_entry SET changes = '[]' WHERE application_id = :application",
        "UPDATE audit_entry SET client_address = '192.0.2.1' WHERE application_id = :application",
        "DELETE FROM audit_entry WHERE application_id = :application",
        "TRUNCATE audit_entry",
        "INSERT OR REPLACE INTO audit_entry SELECT * FROM audit_entry WHERE application_id = :application",
    ],
)
async def test_the_database_refuses_to_change_entries(home: House, statement: str) -> None:
    if home.gateway.database.is_sqlite == statement.startswith("TRUNCATE") or (
        not home.gateway.database.is_sqlite and "REPLACE" in statement
    ):
        return  # the other database has this statement
    with pytest.raises(DBAPIError, match="cannot be changed"):
        await execute(home.one, statement)


async def test_the_role_of_the_policies_cannot_change_entries(home: House) -> None:
    if home.gateway.database.is_sqlite:
        return
    async with home.gateway.database.engine.connect() as connection:
        for privilege, granted in {
            "SELECT": True,
            "INSERT": True,
            "UPDATE": False,
            "DELETE": False,
            "TRUNCATE": False,
        }.items():
            has = text("SELECT has_table_privilege('wattgate_rows', 'audit_entry', :privilege)")
            assert (await connection.execute(has, {"privilege": privilege})).scalar_one() is granted


async def _without_triggers(tenant: Tenant, statement: str) -> None:
    """Execute a statement as somebody could who owns the database."""
    if tenant.gateway.database.is_sqlite:
        triggers = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_entry'"
        async with tenant.gateway.database.engine.begin() as connection:
            rows = (await connection.execute(text(triggers))).all()
            for name, _ in rows:
                await connection.exec_driver_sql(f"DROP TRIGGER {name}")
            await connection.execute(text(statement), {"application": tenant.application_id})
            for _, sql in rows:
                await connection.exec_driver_sql(sql)
    else:
        await execute(
            tenant,
            "ALTER TABLE audit_entry DISABLE TRIGGER USER",
            statement,
            "ALTER TABLE audit_entry ENABLE TRIGGER USER",
        )


async def test_an_address_that_no_entry_attests_as_erased_is_found_missing(home: House) -> None:
    """The database lets an erasure remove an address. The check accepts that only with the attestation of the chain."""
    tenant = await settle_administrator(home.gateway, "address-removed")
    response = await home.http.post(f"{home.rest}/faq", json=FAQ, headers=tenant.headers["application"])
    assert response.is_success, response.text
    assert (await check(tenant)).problems == []
    await execute(tenant, "UPDATE audit_entry SET client_address = NULL WHERE application_id = :application")
    assert (await check(tenant)).problems != []


@pytest.mark.parametrize("kind", ["changed", "removed", "the last removed", "swapped", "redigested"])
async def test_tampering_is_found(home: House, kind: str) -> None:
    own = "application_id = :application AND sequence"
    tenant = await settle_administrator(home.gateway, kind.replace(" ", "-"))
    for _ in range(3):
        await add_endpoint(tenant, administrator(tenant))
    assert (await check(tenant)).problems == []
    statements = {
        "changed": [f"UPDATE audit_entry SET operation = 'other' WHERE {own} = 2"],
        "removed": [f"DELETE FROM audit_entry WHERE {own} = 2"],
        "the last removed": [
            f"DELETE FROM audit_entry WHERE {own} ="
            " (SELECT max(sequence) FROM audit_entry WHERE application_id = :application)"
        ],
        "swapped": [
            f"UPDATE audit_entry SET sequence = -2 WHERE {own} = 2",
            f"UPDATE audit_entry SET sequence = 2 WHERE {own} = 3",
            f"UPDATE audit_entry SET sequence = 3 WHERE {own} = -2",
        ],
        "redigested": [f"UPDATE audit_entry SET digest = '{'0' * 64}' WHERE {own} = 2"],
    }[kind]
    for statement in statements:
        await _without_triggers(tenant, statement)
    problems = (await check(tenant)).problems
    assert problems, kind
    assert (await check(home.other)).problems == []


def test_only_values_that_are_known_to_be_harmless_are_shown() -> None:
    values = {
        "user_id": "u1",
        "name": "Ada",
        "secret": b"x",
        "count": 3,
        "active": True,
        "state": "OPEN",
        "data": {"a": 1},
    }
    expected = {**values, "name": REDACTED, "secret": REDACTED, "data": REDACTED}
    assert redact(values) == expected


def test_a_record_that_is_edited_twice_has_one_change() -> None:
    recorder, user = ChangeRecorder(), User(application_id="a", user_id="u")
    for active in (False, True, False):
        recorder.record_edited("user", "user_id", user)
        user.active = active
    (change,) = recorder.changes()
    assert (change["id"], change["before"], change["after"]) == ("u", {"active": True}, {"active": False})


def test_an_entry_holds_a_bounded_number_of_changes() -> None:
    recorder = ChangeRecorder()
    recorder.record_bulk("token", "token_id", [{"token_id": str(n)} for n in range(MAX_CHANGES + 5)], None)
    changes = recorder.changes()
    assert (len(changes), changes[-1]) == (MAX_CHANGES + 1, {"omitted": 5})

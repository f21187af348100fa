"""The alert types, mails and terms of a household, which `home create` and the demonstration add."""

from datetime import UTC, datetime
from typing import Any

import pytest
from strawberry import ID

from tests.app.test_home_commands import APPLICATION, FLAT, USER, arguments, command, create, created, listed
from tests.support.cli import Command
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.homes.household_alerts import ALERT_TYPES, CODES
from wattgate.app.homes.series import find_operation
from wattgate.app.settings import Settings
from wattgate.enums import RuleKind
from wattgate.operations.core.operation import Operation
from wattgate.operations.types.content.content import NewTermsConditions
from wattgate.operations.types.messages.alert_types import AlertTypeChange, NewAlertType
from wattgate.operations.types.messages.alerts import TemplateChange
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Principal, Role

pytestmark = pytest.mark.alternate_databases("the operations have tests on both")

__all__ = ["command"]

ALWAYS = datetime(2026, 1, 1, tzinfo=UTC)


def run(application_id: str, operation: str | Operation, *, user_id: str | None = None, **values: Any) -> Any:
    """Run an operation as the system in an application, for a user if there is one."""
    system = Principal(Role.SYSTEM, application_id=application_id, user_id=user_id)
    found = find_operation(operation) if isinstance(operation, str) else operation
    return run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(found, system, values)))


def templates_of(application_id: str) -> dict[str, Any]:
    found = run(application_id, "templates", include_archived=True)
    return {f"{template.system_alert_type_id} {template.culture_code}": template for template in found}


def test_household_has_alert_types_of_all_kinds_with_published_mails(command: Command) -> None:
    setup = create(command, **FLAT)
    application_id = setup["applicationId"]
    stored = {kind.system_alert_type_id: kind.rule_kind for kind in run(application_id, "alert_types")}
    assert {code: kind for code, kind in stored.items() if kind} == {
        new.system_alert_type_id: kind for kind, new in ALERT_TYPES.items()
    }
    assert set(ALERT_TYPES) == set(RuleKind)
    templates = templates_of(application_id)
    assert set(templates) == {f"{code} {culture}" for code in CODES for culture in ("en-GB", "fr")}
    assert all(template.active for template in templates.values())
    assert all("http://127.0.0.1:8000/display" in template.html_template for template in templates.values())
    assert {terms.reference for terms in run(application_id, "all_terms_conditions")} == {"app", "dfs"}


def test_templates_that_an_editor_has_changed_or_archived_stay(command: Command) -> None:
    application_id = create(command, **FLAT)["applicationId"]
    templates = templates_of(application_id)
    changed, archived = templates["CM01 en-GB"], templates["ND01 fr"]
    change = TemplateChange(name="Ours", subject="Too much", html_template="<p>{{ value }}</p>", active=True)
    run(application_id, "update_template", template_id=ID(changed.template_id), input=change)
    run(application_id, "archive_template", template_id=ID(archived.template_id))
    kind_id = ID(changed.alert_type_id)
    run(application_id, "update_alert_type", alert_type_id=kind_id, input=AlertTypeChange(name="High", active=False))
    assert created(create(command, **FLAT)) == []
    after = templates_of(application_id)
    assert set(after) == set(templates)
    assert after["CM01 en-GB"].name == "Ours"
    assert after["CM01 en-GB"].html_template == "<p>{{ value }}</p>"
    assert after["ND01 fr"].archived_at is not None
    names = {kind.system_alert_type_id: (kind.name, kind.active) for kind in run(application_id, "alert_types")}
    assert names["CM01"] == ("High", False)


def test_rule_that_the_household_has_removed_does_not_come_back(command: Command) -> None:
    setup = create(command, **FLAT)
    (rule,) = [record for record in setup["records"] if record["kind"] == "alert rule"]
    run(setup["applicationId"], "remove_alert_rule", rule_id=ID(rule["id"]))
    assert created(create(command, **FLAT, gas="9000000011"))[0][0] == "resource type"
    assert run(setup["applicationId"], "alert_rules") == []


def test_application_with_alert_types_and_terms_of_its_own_keeps_them_alone(command: Command) -> None:
    assert command("app", "create", APPLICATION, "--username", "my-app").status == 0
    (application,) = listed(command, "app", "list")
    application_id = application["applicationId"]
    own = NewAlertType(system_alert_type_id="OURS", name="Ours", rule_kind=RuleKind.NO_DATA)
    run(application_id, "add_alert_type", input=own)
    terms = NewTermsConditions(
        reference="ours", version="1", valid_from=ALWAYS, title="Our terms", data=Json({"text": "x"})
    )
    run(application_id, "add_terms_conditions", input=terms)
    kinds = {kind for kind, _ in created(create(command, **FLAT))}
    assert not kinds & {"alert type", "template", "terms", "alert rule"}


@pytest.mark.every_case("each is another fallback")
@pytest.mark.parametrize(
    ("culture", "expected"),
    [("fr-CA", {"en", "fr-CA"}), ("en-US", {"en-US", "fr"}), ("de-DE", {"en", "fr"})],
)
def test_mails_are_in_the_culture_of_the_application_and_the_other_language(
    command: Command, culture: str, expected: set[str]
) -> None:
    assert command("app", "create", APPLICATION, "--username", "my-app", "--culture", culture).status == 0
    setup = create(command)
    cultures = {template.culture_code for template in templates_of(setup["applicationId"]).values()}
    assert cultures == expected


def test_table_counts_the_records_of_the_household(command: Command) -> None:
    shown = command(*arguments())
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    for line in ("created alert types 3", "created mails of alerts 6", "created terms 2"):
        assert line in lines
    assert USER in shown.out

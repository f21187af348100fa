"""The content of the demonstration: questions, pages, terms, support, prompts, and what its users answered."""

from collections.abc import Mapping

from wattgate.app.demo.logins import NEIGHBOUR_USERNAME, USERNAME
from wattgate.app.homes.household_alerts import APP_REFERENCE, VERSION, ensure_terms
from wattgate.app.homes.records import ensure_record, ignore_note
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.content import content as types
from wattgate.operations.types.content import prompts
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Principal

COUNTRY = "GB"

FAQ = types.NewFaq(
    reference=APP_REFERENCE,
    version=VERSION,
    minimum_version=VERSION,
    country=COUNTRY,
    data=[
        types.NewQuestionAndReply(
            question="Why is there a gap in my history?",
            reply="The meter network was unavailable for some hours. Readings that it did not store cannot be shown.",
        ),
        types.NewQuestionAndReply(
            question="When do the prices of tomorrow appear?",
            reply="A dynamic tariff gets the prices of the next day at 16:00.",
        ),
        types.NewQuestionAndReply(
            question="How do I withdraw a consent?",
            reply="Revoke the consent of the meter point. Apps then no longer see its readings.",
        ),
    ],
)

PAGE = types.NewContent(
    reference="welcome",
    name="Welcome",
    description="First page of the app",
    data=Json({"title": "Welcome", "body": "See what your home uses now, and what it costs."}),
)
TRANSLATIONS: Mapping[str, Mapping[str, str]] = {
    "en-GB": {"title": "Welcome", "body": "See what your home uses now, and what it costs."},
    "fr": {"title": "Bienvenue", "body": "Voyez ce que votre logement consomme maintenant, et ce que cela coûte."},
}

SUPPORT = types.NewSupportDetails(
    reference=APP_REFERENCE,
    country=COUNTRY,
    email="help@wattgate.example",
    telephone="+44 20 7946 0000",
    url="https://wattgate.example/help",
)
PROMPT_TYPE = prompts.NewPromptType(name="hint", description="A hint that the app shows once")
PROMPT_NAME, PROMPT_MESSAGE = "alert-rule", "Add an alert rule to notice high consumption."
ACTION_TYPE = prompts.NewUserActionType(name="hint-followed", description="The user followed a hint")


async def add_content(runner: Runner, system: Principal, owners: Mapping[str, Principal]) -> None:
    """Add the content that is missing. `owners` are the users by username."""
    await ensure_record(runner, system, "faqs", "add_faq", FAQ, "reference", "version")
    page = await ensure_record(runner, system, "contents", "add_content", PAGE, "reference")
    for culture, data in TRANSLATIONS.items():
        translation = types.NewLanguageContent(content_id=page.content_id, culture_code=culture, data=Json(dict(data)))
        key = ("content_id", "culture_code")
        await ensure_record(runner, system, "language_contents", "add_language_content", translation, *key)
    support_key = ("reference", "country")
    await ensure_record(runner, system, "all_support_details", "add_support_details", SUPPORT, *support_key)
    for stored in await ensure_terms(runner, system, ignore_note):
        answer = types.NewTermsConditionsUser(
            tc_id=Id(stored.tc_id),
            data=types.TermsConditionsAnswer(data_access=types.DataAccess(valid=True)),
            reference=stored.reference,
        )
        for username in (USERNAME, NEIGHBOUR_USERNAME):
            owner = owners[username]
            await ensure_record(runner, owner, "terms_conditions_users", "add_terms_conditions_user", answer, "tc_id")
    await _add_prompts(runner, system, owners[USERNAME])


async def _add_prompts(runner: Runner, system: Principal, owner: Principal) -> None:
    """Add a hint, which a user has seen and followed."""
    kind = await ensure_record(runner, system, "prompt_types", "add_prompt_type", PROMPT_TYPE, "name")
    hint = prompts.NewPrompt(prompt_type_id=Id(kind.prompt_type_id), name=PROMPT_NAME, message=PROMPT_MESSAGE)
    prompt = await ensure_record(runner, system, "prompts", "add_prompt", hint, "name")
    outcome = prompts.NewPromptUser(prompt_id=Id(prompt.prompt_id), status="done")
    await ensure_record(runner, owner, "prompt_users", "add_prompt_user", outcome, "prompt_id")
    action_type = await ensure_record(runner, system, "user_action_types", "add_user_action_type", ACTION_TYPE, "name")
    action = prompts.NewUserAction(
        user_action_type_id=Id(action_type.user_action_type_id), data=Json({"prompt": PROMPT_NAME})
    )
    await ensure_record(runner, owner, "user_actions", "add_user_action", action, "user_action_type_id")

"""Content operations that are not uniform: FAQs by version, contents by language, terms in force."""

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.content import in_language, parse_version, terms_of_now
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.input_limits import check_references
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.types.content import content as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission
from wattgate.values import terms


@operation(
    OperationKind.QUERY,
    returns=list[types.Faq],
    needs=Permission.CONTENT_READ,
    rest=RestRoute("GET", "/faq", Tag.QUESTIONS_AND_ANSWERS, scheme=AuthScheme.BASIC),
)
async def faqs(
    call: Call,
    *,
    reference: terms.Reference | None = None,
    country: terms.Country | None = None,
    version: terms.Version | None = None,
) -> list[models.Faq]:
    """List frequently asked questions, newest app version first, optionally for a reference, country or app version.

    For an app version, the list has the sets whose `minimumVersion` is not newer. Versions are compared number by
    number.
    """
    faqs = await call.rows.all(
        models.Faq,
        *([] if reference is None else [col(models.Faq.reference) == reference]),
        *([] if country is None else [col(models.Faq.country) == country]),
        order_by=[models.Faq.created_at],
    )
    if version is not None:
        app_version = parse_version(version)
        faqs = [
            faq for faq in faqs if app_version is not None and (parse_version(faq.minimum_version) or ()) <= app_version
        ]
    return sorted(faqs, key=lambda faq: parse_version(faq.version) or (), reverse=True)


@operation(
    OperationKind.MUTATION,
    returns=types.Faq,
    needs=Permission.CONTENT_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/faq", Tag.QUESTIONS_AND_ANSWERS),
)
async def add_faq(call: Call, *, input: types.NewFaq) -> models.Faq:
    """Add a set of frequently asked questions."""
    problems = [
        Problem(("input", name), f"{version} is not a dotted numeric version")
        for name, version in (("version", input.version), ("minimumVersion", input.minimum_version))
        if parse_version(version) is None
    ]
    if problems:
        raise BadInput("Invalid version. Give dotted numbers such as 1.2.0.", problems=problems)
    if (parse_version(input.minimum_version) or ()) > (parse_version(input.version) or ()):
        problem = Problem(("input", "minimumVersion"), f"is newer than version, which is {input.version}")
        raise BadInput("Invalid minimumVersion. Give one that is not newer than version.", problems=[problem])
    data = [models.QuestionAndReply(item.question, item.reply) for item in input.data]
    return await call.rows.add(
        models.Faq(
            reference=input.reference,
            version=input.version,
            minimum_version=input.minimum_version,
            country=input.country,
            status=input.status,
            data=data,
        )
    )


@operation(
    OperationKind.QUERY,
    returns=list[types.LanguageContent],
    needs=Permission.CONTENT_READ,
    rest=RestRoute("GET", "/languagecontent", Tag.CONTENT),
    raises=(NotFound,),
    in_graphql=("application", "contents", "translations"),
)
async def language_contents(
    call: Call, *, content_id: ids.ContentId | None = None, culture_code: terms.CultureCode | None = None
) -> list[models.LanguageContent]:
    """List translations of content objects.

    For a culture, the list has the closest translation of each content object: fr-CA, otherwise fr, otherwise default.
    """
    conditions = [] if content_id is None else [col(models.LanguageContent.content_id) == content_id]
    language_contents = await call.rows.all(
        models.LanguageContent, *conditions, order_by=[models.LanguageContent.created_at]
    )
    if culture_code is None:
        return language_contents
    contents = await call.rows.get_many(models.Content, {content.content_id for content in language_contents})
    nearest = await in_language(call.rows, list(contents.values()), culture_code=culture_code)
    return [content for content in nearest if content is not None]


@operation(
    OperationKind.QUERY,
    returns=list[types.TermsConditions],
    needs=Permission.CONTENT_READ,
    rest=RestRoute("GET", "/termsconditions/current", Tag.TERMS_AND_CONDITIONS),
    raises=(NotFound,),
    in_graphql=("application", "termsConditionsInForce"),
)
async def current_terms_conditions(
    call: Call, *, reference: terms.Reference | None = None
) -> list[models.TermsConditions]:
    """List the terms and conditions in force: the newest effective version of each reference."""
    return await terms_of_now(call.rows, reference)


@operation(
    OperationKind.MUTATION,
    returns=types.TermsConditionsUser,
    needs=Permission.RESPONSE_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/termsconditionsuser", Tag.TERMS_AND_CONDITIONS),
)
async def add_terms_conditions_user(call: Call, *, input: types.NewTermsConditionsUser) -> models.TermsConditionsUser:
    """Record the acting user's answer to terms and conditions."""
    await check_references(call, models.TermsConditionsUser, {"tc_id": input.tc_id})
    data = {"dataAccess": {"valid": input.data.data_access.valid}}
    return await call.rows.add(
        models.TermsConditionsUser(
            user_id=require_user_id(call), tc_id=input.tc_id, data=data, reference=input.reference
        )
    )

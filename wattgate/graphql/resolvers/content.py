"""What of the content system is more than uniform records."""

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.content import dotted, in_language
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.inputs import check_references
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.types import content as types
from wattgate.principal import Permission, Scheme

DEMAND_FLEXIBILITY = "dfs"
"""The reference of the demand flexibility service's terms and conditions."""


@operation(
    Kind.QUERY,
    returns=list[types.Faq],
    needs=Permission.CONTENT_READ,
    rest=Rest("GET", "/faq", scheme=Scheme.BASIC),
)
async def faqs(
    call: Call, *, reference: str | None = None, country: str | None = None, version: str | None = None
) -> list[models.Faq]:
    """Frequently asked questions, newest version first, narrowed down to a reference, a country or an app's version.

    An app's version is given those whose minimumVersion it has reached; versions compare as dotted numbers.
    """
    found = await call.rows.all(
        models.Faq,
        *([] if reference is None else [col(models.Faq.reference) == reference]),
        *([] if country is None else [col(models.Faq.country) == country]),
        order_by=[models.Faq.created_at],
    )
    if version is not None:
        asked = dotted(version)
        found = [one for one in found if asked is not None and (dotted(one.minimum_version) or ()) <= asked]
    return sorted(found, key=lambda one: dotted(one.version) or (), reverse=True)


@operation(
    Kind.MUTATION,
    returns=types.Faq,
    needs=Permission.CONTENT_WRITE,
    rest=Rest("POST", "/faq"),
)
async def add_faq(call: Call, *, input: types.NewFaq) -> models.Faq:
    """Add a set of frequently asked questions to the application."""
    problems = [
        Problem(("input", place), f"{version} is not a dotted numeric version")
        for place, version in (("version", input.version), ("minimumVersion", input.minimum_version))
        if dotted(version) is None
    ]
    if problems:
        raise BadInput("a version is dotted numbers, such as 1.2.0", problems=problems)
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
    Kind.QUERY,
    returns=list[types.LanguageContent],
    needs=Permission.CONTENT_READ,
    rest=Rest("GET", "/languagecontent"),
)
async def language_contents(
    call: Call, *, content_id: strawberry.ID | None = None, culture_code: str | None = None
) -> list[models.LanguageContent]:
    """Content objects by language; of a culture, each content object's nearest: fr-CA, else fr, else default."""
    wanted = [] if content_id is None else [col(models.LanguageContent.content_id) == content_id]
    found = await call.rows.all(models.LanguageContent, *wanted, order_by=[models.LanguageContent.created_at])
    if culture_code is None:
        return found
    contents = await call.rows.many(models.Content, {one.content_id for one in found})
    nearest = await in_language(call.rows, list(contents.values()), culture_code=culture_code)
    return [one for one in nearest if one is not None]


@operation(
    Kind.QUERY,
    returns=list[types.TermsConditions],
    needs=Permission.CONTENT_READ,
    rest=Rest("GET", "/termsconditions/current"),
)
async def current_terms_conditions(call: Call, *, reference: str | None = None) -> list[models.TermsConditions]:
    """The terms and conditions in force: of each reference the newest version that has begun."""
    return await _in_force(call, reference)


@operation(
    Kind.QUERY,
    returns=list[types.TermsConditions],
    needs=Permission.CONTENT_READ,
    rest=Rest("GET", "/dfs/termsconditions"),
)
async def dfs_terms_conditions(call: Call) -> list[models.TermsConditions]:
    """The terms and conditions of the demand flexibility service that are in force."""
    return await _in_force(call, DEMAND_FLEXIBILITY)


@operation(
    Kind.MUTATION,
    returns=types.TermsConditionsUser,
    needs=Permission.RESPONSE_WRITE,
    rest=Rest("POST", "/termsconditionsuser"),
)
async def add_terms_conditions_user(call: Call, *, input: types.NewTermsConditionsUser) -> models.TermsConditionsUser:
    """Keep the user's answer to terms and conditions."""
    await check_references(call, models.TermsConditionsUser, {"tc_id": input.tc_id})
    data = {"dataAccess": {"valid": input.data.data_access.valid}}
    return await call.rows.add(
        models.TermsConditionsUser(user_id=owner_of(call), tc_id=input.tc_id, data=data, reference=input.reference)
    )


async def _in_force(call: Call, reference: str | None) -> list[models.TermsConditions]:
    found = await call.rows.all(
        models.TermsConditions,
        col(models.TermsConditions.active).is_(True),
        col(models.TermsConditions.valid_from) <= call.rows.now,
        *([] if reference is None else [col(models.TermsConditions.reference) == reference]),
        order_by=[models.TermsConditions.valid_from],
    )
    return list({one.reference: one for one in found}.values())

"""The content system's records."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries import content as queries
from wattgate.db.queries.references import referred
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.scalars import Json
from wattgate.principal import Permission


@strawberry.type(description="A question and its reply.")
class QuestionAndReply:
    question: str
    reply: str


@strawberry.type(description="Frequently asked questions for one reference, country and version of an app.")
class Faq:
    faq_id: strawberry.ID
    application_id: strawberry.ID
    reference: str
    created_at: datetime
    updated_at: datetime
    version: str = strawberry.field(description="The version of the app that it was written for: dotted numbers.")
    minimum_version: str = strawberry.field(description="The oldest version that it holds for: dotted numbers.")
    country: str
    status: str
    data: list[QuestionAndReply]


@strawberry.input(description="A question and its reply.")
class NewQuestionAndReply:
    question: str
    reply: str


@strawberry.input(description="Frequently asked questions to add.")
class NewFaq:
    reference: str
    version: str
    minimum_version: str
    country: str
    data: list[NewQuestionAndReply]
    status: str = "OK"


@strawberry.type(description="A content object in one culture.")
class LanguageContent:
    language_content_id: strawberry.ID
    application_id: strawberry.ID
    content_id: strawberry.ID
    culture_code: str = strawberry.field(description="A tag such as fr-CA, a language such as fr, or default.")
    data: Json | None
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A content object in one culture, to add.")
class NewLanguageContent:
    content_id: strawberry.ID
    culture_code: str
    data: Json | None = None
    active: bool = True


@strawberry.input(description="What may change on a content object in one culture; what is left out stays as it is.")
class LanguageContentChange:
    culture_code: str | None = strawberry.UNSET
    data: Json | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET


@strawberry.type(description="Something that apps show.")
class Content:
    content_id: strawberry.ID
    application_id: strawberry.ID
    reference: str
    name: str
    description: str
    data: Json | None
    active: bool
    created_at: datetime
    updated_at: datetime
    in_language: LanguageContent | None = edge(
        queries.in_language,
        needs=Permission.CONTENT_READ,
        description="The content in a culture: fr-CA falls back to fr, and fr to default.",
    )


@strawberry.input(description="A content object to add.")
class NewContent:
    reference: str
    name: str
    description: str = ""
    data: Json | None = None
    active: bool = True


@strawberry.input(description="What may change on a content object; what is left out stays as it is.")
class ContentChange:
    reference: str | None = strawberry.UNSET
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    data: Json | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET


@strawberry.type(description="A version of terms and conditions.")
class TermsConditions:
    tc_id: strawberry.ID
    application_id: strawberry.ID
    reference: str = strawberry.field(description="What they are about, such as app or dfs.")
    version: str
    title: str
    data: Json | None
    valid_from: datetime = strawberry.field(description="When this version comes into force.")
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A version of terms and conditions to add.")
class NewTermsConditions:
    reference: str
    version: str
    valid_from: datetime
    title: str = ""
    data: Json | None = None
    active: bool = True


@strawberry.type(description="A user's answer to terms and conditions.")
class TermsConditionsUser:
    tc_user_id: strawberry.ID
    application_id: strawberry.ID
    created_at: datetime
    updated_at: datetime
    user_id: strawberry.ID
    tc_id: strawberry.ID = strawberry.field(description="The terms and conditions answered.")
    data: Json = strawberry.field(description='Holds dataAccess, such as {"dataAccess": {"valid": true}}.')
    reference: str
    terms_conditions: TermsConditions | None = edge(
        referred(models.TermsConditions, "tc_id"),
        needs=Permission.CONTENT_READ,
        description="The terms and conditions answered.",
    )


@strawberry.input(description="Whether data may be accessed.")
class DataAccess:
    valid: bool


@strawberry.input(description="What was answered.")
class TermsConditionsAnswer:
    data_access: DataAccess


@strawberry.input(description="An answer to terms and conditions, of the user for whom the call is made.")
class NewTermsConditionsUser:
    tc_id: strawberry.ID
    data: TermsConditionsAnswer
    reference: str = ""


@strawberry.type(description="Where people of a country get help.")
class SupportDetails:
    support_details_id: strawberry.ID
    application_id: strawberry.ID
    reference: str
    country: str
    email: str
    telephone: str
    url: str
    data: Json | None
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="Support details to add.")
class NewSupportDetails:
    reference: str
    country: str
    email: str = ""
    telephone: str = ""
    url: str = ""
    data: Json | None = None
    active: bool = True

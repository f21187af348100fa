"""GraphQL types of the content system."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries import content as queries
from wattgate.db.queries.references import reference_loader
from wattgate.graphql.core.connection import Connection
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.node import Node
from wattgate.graphql.core.pagination import connection_edge
from wattgate.graphql.core.scalars import Json
from wattgate.principal import Permission


@strawberry.type(description="A question and its answer.")
class QuestionAndReply:
    question: str
    reply: str


@strawberry.type(description="Frequently asked questions for one reference, country and app version.")
class Faq(Node, model=models.Faq):
    faq_id: strawberry.ID
    application_id: strawberry.ID
    reference: str
    created_at: datetime
    updated_at: datetime
    version: str = strawberry.field(
        description="App version that the questions were written for: dotted numbers, such as 1.2.0."
    )
    minimum_version: str
    country: str
    status: str = strawberry.field(description="Status of the set, chosen by the application, such as OK.")
    data: list[QuestionAndReply] = strawberry.field(description="Questions with their answers.")


@strawberry.input(description="A question and its answer.")
class NewQuestionAndReply:
    question: str
    reply: str


@strawberry.input(description="Set of frequently asked questions to add.")
class NewFaq:
    reference: str
    version: str = strawberry.field(
        description="App version that the questions were written for: dotted numbers, such as 1.2.0."
    )
    minimum_version: str
    country: str
    data: list[NewQuestionAndReply] = strawberry.field(description="Questions with their answers.")
    status: str = strawberry.field(
        default="OK", description="Status of the set, chosen by the application, such as OK."
    )


@strawberry.type(description="Translation of a content object into one culture.")
class LanguageContent(Node, model=models.LanguageContent):
    language_content_id: strawberry.ID
    application_id: strawberry.ID
    content_id: strawberry.ID
    culture_code: str = strawberry.field(
        description="Language and region such as fr-CA, a language such as fr, or the word default."
    )
    data: Json | None
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="Translation of a content object to add.")
class NewLanguageContent:
    content_id: strawberry.ID
    culture_code: str = strawberry.field(
        description="Language and region such as fr-CA, a language such as fr, or the word default."
    )
    data: Json | None = None
    active: bool = True


@strawberry.input(description="Fields of a translation to change. Omitted fields keep their values.")
class LanguageContentChange:
    culture_code: str | None = strawberry.UNSET
    data: Json | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET


@strawberry.type(description="Content that apps show, such as a text or a set of images.")
class Content(Node, model=models.Content):
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
        description="Translation into a culture: fr-CA falls back to fr, and fr to default. Null if there is none.",
    )


@strawberry.input(description="Content object to add.")
class NewContent:
    reference: str
    name: str
    description: str = ""
    data: Json | None = None
    active: bool = True


@strawberry.input(description="Fields of a content object to change. Omitted fields keep their values.")
class ContentChange:
    reference: str | None = strawberry.UNSET
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    data: Json | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET


@strawberry.type(description="One version of the terms and conditions for a reference.")
class TermsConditions(Node, model=models.TermsConditions):
    tc_id: strawberry.ID
    application_id: strawberry.ID
    reference: str
    version: str
    title: str
    data: Json | None
    valid_from: datetime = strawberry.field(description="When the version comes into force.")
    active: bool
    created_at: datetime
    updated_at: datetime
    terms_conditions_users: "Connection[TermsConditionsUser]" = connection_edge(
        "TermsConditionsUser",
        models.TermsConditionsUser,
        column="tc_id",
        parent="tc_id",
        needs=Permission.RESPONSE_READ,
        description="Answers to this version that the caller may see.",
    )


@strawberry.input(description="Version of terms and conditions to add.")
class NewTermsConditions:
    reference: str
    version: str
    valid_from: datetime
    title: str = ""
    data: Json | None = None
    active: bool = True


@strawberry.type(description="A user's answer to terms and conditions.")
class TermsConditionsUser(Node, model=models.TermsConditionsUser):
    tc_user_id: strawberry.ID
    application_id: strawberry.ID
    created_at: datetime
    updated_at: datetime
    user_id: strawberry.ID
    tc_id: strawberry.ID
    data: Json = strawberry.field(description='Answer of the user, such as {"dataAccess": {"valid": true}}.')
    reference: str
    terms_conditions: TermsConditions | None = edge(
        reference_loader(models.TermsConditions, "tc_id"),
        needs=Permission.CONTENT_READ,
        description="The version of terms and conditions. Null if the caller may not see it.",
    )


@strawberry.input(description="Permission to access the user's data.")
class DataAccess:
    valid: bool = strawberry.field(description="Whether the user permits access.")


@strawberry.input(description="Answer of a user to terms and conditions.")
class TermsConditionsAnswer:
    data_access: DataAccess


@strawberry.input(description="Answer of the acting user to terms and conditions.")
class NewTermsConditionsUser:
    tc_id: strawberry.ID
    data: TermsConditionsAnswer = strawberry.field(description="Answer of the user.")
    reference: str = ""


@strawberry.type(description="Contact details of the support for the users of one country.")
class SupportDetails(Node, model=models.SupportDetails):
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

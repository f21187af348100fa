"""GraphQL types of the content system."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries import content as queries
from wattgate.db.queries.content import reference_loader
from wattgate.operations.core.fields import RestForm, edge, field_with_rest_form
from wattgate.operations.core.pagination import Connection, ListFilter, connection_edge, filter_input
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Data, Json
from wattgate.principal import Permission
from wattgate.values import terms


@filter_input("Filter of a list of content objects.")
class ContentFilter(ListFilter):
    reference: terms.Text200 | None = strawberry.field(default=UNSET, description="Reference of the content object.")


@filter_input("Filter of a list of versions of terms and conditions.")
class TermsConditionsFilter(ListFilter):
    reference: terms.Text200 | None = strawberry.field(
        default=UNSET, description="Reference of the terms and conditions."
    )
    version: terms.Text100 | None = strawberry.field(default=UNSET, description="Version.")


@filter_input("Filter of a list of support details.")
class SupportDetailsFilter(ListFilter):
    reference: terms.Text200 | None = strawberry.field(default=UNSET, description="Reference of the support details.")
    country: terms.Text100 | None = strawberry.field(default=UNSET, description="Country of the support details.")


@strawberry.type(description="A question and its answer.")
class QuestionAndReply:
    question: terms.Question
    reply: terms.Reply


@strawberry.type(description="Frequently asked questions for one reference, country and app version.")
class Faq(Node, model=models.Faq):
    faq_id: strawberry.ID = strawberry.field(description="ID of the set of frequently asked questions.")
    application_id: ids.ApplicationId
    reference: terms.Reference
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    version: str = strawberry.field(
        description="App version that the questions were written for: dotted numbers, such as 1.2.0."
    )
    minimum_version: terms.MinimumVersion
    country: terms.Country
    status: str = strawberry.field(description="Status of the set, chosen by the application, such as OK.")
    data: list[QuestionAndReply] = strawberry.field(description="Questions with their answers.")


@strawberry.input(description="A question and its answer.")
class NewQuestionAndReply:
    question: terms.Question
    reply: terms.Reply


@strawberry.input(description="Set of frequently asked questions to add.")
class NewFaq:
    reference: terms.Reference
    version: terms.Text100 = strawberry.field(
        description="App version that the questions were written for: dotted numbers, such as 1.2.0."
    )
    minimum_version: terms.MinimumVersion
    country: terms.Country
    data: list[NewQuestionAndReply] = strawberry.field(description="Questions with their answers.")
    status: terms.Text100 = strawberry.field(
        default="OK", description="Status of the set, chosen by the application, such as OK."
    )


@strawberry.type(description="Translation of a content object into one culture.")
class LanguageContent(Node, model=models.LanguageContent):
    language_content_id: strawberry.ID = strawberry.field(description="ID of the language content object.")
    application_id: ids.ApplicationId
    content_id: ids.ContentId
    culture_code: str = strawberry.field(
        description="Language and region such as fr-CA, a language such as fr, or the word default."
    )
    data: Data | None
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.input(description="Translation of a content object to add.")
class NewLanguageContent:
    content_id: ids.ContentId
    culture_code: terms.Text100 = strawberry.field(
        description="Language and region such as fr-CA, a language such as fr, or the word default."
    )
    data: Data | None = None
    active: terms.Active = True


@strawberry.input(description="Fields of a translation to change. Omitted fields keep their values.")
class LanguageContentChange:
    culture_code: terms.CultureCode | None = strawberry.UNSET
    data: Data | None = strawberry.UNSET
    active: terms.Active | None = strawberry.UNSET


@strawberry.type(description="Content that apps show, such as a text or a set of images.")
class Content(Node, model=models.Content):
    content_id: ids.ContentId
    application_id: ids.ApplicationId
    reference: terms.Reference
    name: terms.Name
    description: terms.Description
    data: Data | None
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    in_language: LanguageContent | None = edge(
        queries.in_language,
        needs=Permission.CONTENT_READ,
        description="Translation into a culture: fr-CA falls back to fr, and fr to default. Null if there is none.",
    )
    translations: "Connection[LanguageContent]" = connection_edge(
        models.LanguageContent,
        column="content_id",
        needs=Permission.CONTENT_READ,
        description="Translations of the content object, of all cultures.",
    )


@strawberry.input(description="Content object to add.")
class NewContent:
    reference: terms.Reference
    name: terms.Name
    description: terms.Description = ""
    data: Data | None = None
    active: terms.Active = True


@strawberry.input(description="Fields of a content object to change. Omitted fields keep their values.")
class ContentChange:
    reference: terms.Reference | None = strawberry.UNSET
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    data: Data | None = strawberry.UNSET
    active: terms.Active | None = strawberry.UNSET


@strawberry.type(description="One version of the terms and conditions for a reference.")
class TermsConditions(Node, model=models.TermsConditions):
    tc_id: ids.TcId
    application_id: ids.ApplicationId
    reference: terms.Reference
    version: terms.Version
    title: terms.Title
    data: Data | None
    valid_from: datetime = strawberry.field(description="When the version comes into force.")
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    terms_conditions_users: "Connection[TermsConditionsUser]" = connection_edge(
        models.TermsConditionsUser,
        column="tc_id",
        needs=Permission.RESPONSE_READ,
        description="Answers to this version that the caller may see.",
    )


@strawberry.input(description="Version of terms and conditions to add.")
class NewTermsConditions:
    reference: terms.Reference
    version: terms.Version
    valid_from: datetime = strawberry.field(description="When the record comes into force.")
    title: terms.Title = ""
    data: Data | None = None
    active: terms.Active = True


@strawberry.type(description="A user's answer to terms and conditions.")
class TermsConditionsUser(Node, model=models.TermsConditionsUser):
    tc_user_id: strawberry.ID = strawberry.field(description="ID of the answer to terms and conditions.")
    application_id: ids.ApplicationId
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    user_id: ids.UserId
    tc_id: ids.TcId
    accepted: bool = field_with_rest_form(
        "accepted",
        RestForm("data", Json, 'Answer of the user, such as {"dataAccess": {"valid": true}}.', name="data"),
        description="Whether the user allows access to the data.",
    )
    reference: terms.Reference
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
    data_access: DataAccess = strawberry.field(description="Whether the user permits access to the data.")


@strawberry.input(description="Answer of the acting user to terms and conditions.")
class NewTermsConditionsUser:
    tc_id: ids.TcId
    data: TermsConditionsAnswer = strawberry.field(description="Answer of the user.")
    reference: terms.Reference = ""


@strawberry.type(description="Contact details of the support for the users of one country.")
class SupportDetails(Node, model=models.SupportDetails):
    support_details_id: strawberry.ID = strawberry.field(description="ID of the support details.")
    application_id: ids.ApplicationId
    reference: terms.Reference
    country: terms.Country
    email: terms.Email
    telephone: terms.Telephone
    url: terms.WebAddress
    data: Data | None
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.input(description="Support details to add.")
class NewSupportDetails:
    reference: terms.Reference
    country: terms.Country
    email: terms.Email = ""
    telephone: terms.Telephone = ""
    url: terms.WebAddress = ""
    data: Data | None = None
    active: terms.Active = True

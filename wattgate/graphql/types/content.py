"""The content system's records."""

from datetime import datetime

import strawberry


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
    version: str = strawberry.field(description="Dotted numbers.")
    minimum_version: str = strawberry.field(description="Dotted numbers.")
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

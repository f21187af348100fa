"""The content system: what apps show to people."""

from datetime import datetime
from typing import ClassVar

import msgspec
from sqlmodel import Field

from wattgate.db.columns import AssignedId, Structs, created_at, updated_at
from wattgate.db.models.tenancy import Tenanted


class QuestionAndReply(msgspec.Struct):
    question: str
    reply: str


class Faq(Tenanted, table=True):
    """Frequently asked questions for one reference, country and version of an app."""

    key: ClassVar[str] = "faq_id"

    faq_id: str = AssignedId()
    reference: str
    version: str
    minimum_version: str
    country: str
    status: str = "OK"
    data: list[QuestionAndReply] = Field(sa_type=Structs(QuestionAndReply))
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()

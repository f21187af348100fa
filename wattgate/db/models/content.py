"""The content system: what apps show to people, and what people answer."""

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, Json, Structs, UtcDateTime, created_at, updated_at
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


class Content(Tenanted, table=True):
    """Something that apps show; `data` is free, and the texts of each language stand in LanguageContent."""

    key: ClassVar[str] = "content_id"

    content_id: str = AssignedId()
    reference: str
    name: str
    description: str = ""
    data: Any = Field(default=None, sa_type=Json)
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class LanguageContent(Tenanted, table=True):
    """A content object in one culture: a language-region tag, a language, or `default`."""

    __tablename__ = "language_content"
    key: ClassVar[str] = "language_content_id"

    language_content_id: str = AssignedId()
    content_id: str = Field(foreign_key="content.content_id", index=True)
    culture_code: str
    data: Any = Field(default=None, sa_type=Json)
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class TermsConditions(Tenanted, table=True):
    """A version of terms and conditions; of each reference the newest that has begun is in force."""

    __tablename__ = "terms_conditions"
    key: ClassVar[str] = "tc_id"

    tc_id: str = AssignedId()
    reference: str
    version: str
    title: str = ""
    data: Any = Field(default=None, sa_type=Json)
    valid_from: datetime = Field(sa_type=UtcDateTime)
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class TermsConditionsUser(Tenanted, table=True):
    """A user's answer to terms and conditions."""

    __tablename__ = "terms_conditions_user"
    key: ClassVar[str] = "tc_user_id"
    owner: ClassVar[str | None] = "user_id"

    tc_user_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    tc_id: str = Field(foreign_key="terms_conditions.tc_id", index=True)
    data: Any = Field(sa_type=Json)
    reference: str = ""
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class SupportDetails(Tenanted, table=True):
    """Where people of a country get help."""

    __tablename__ = "support_details"
    key: ClassVar[str] = "support_details_id"

    support_details_id: str = AssignedId()
    reference: str
    country: str
    email: str = ""
    telephone: str = ""
    url: str = ""
    data: Any = Field(default=None, sa_type=Json)
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class PromptType(Tenanted, table=True):
    """A kind of prompt."""

    __tablename__ = "prompt_type"
    key: ClassVar[str] = "prompt_type_id"

    prompt_type_id: str = AssignedId()
    name: str
    description: str = ""
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class Prompt(Tenanted, table=True):
    """Something that an app asks people to do or to notice."""

    key: ClassVar[str] = "prompt_id"

    prompt_id: str = AssignedId()
    prompt_type_id: str = Field(foreign_key="prompt_type.prompt_type_id", index=True)
    name: str
    message: str = ""
    data: Any = Field(default=None, sa_type=Json)
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class PromptUser(Tenanted, table=True):
    """What became of a prompt for one user."""

    __tablename__ = "prompt_user"
    key: ClassVar[str] = "prompt_user_id"
    owner: ClassVar[str | None] = "user_id"

    prompt_user_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    prompt_id: str = Field(foreign_key="prompt.prompt_id", index=True)
    status: str = "shown"
    data: Any = Field(default=None, sa_type=Json)
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class UserActionType(Tenanted, table=True):
    """A kind of thing that people do in an app."""

    __tablename__ = "user_action_type"
    key: ClassVar[str] = "user_action_type_id"

    user_action_type_id: str = AssignedId()
    name: str
    description: str = ""
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class UserAction(Tenanted, table=True):
    """Something that a user did in an app."""

    __tablename__ = "user_action"
    key: ClassVar[str] = "user_action_id"
    owner: ClassVar[str | None] = "user_id"

    user_action_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    user_action_type_id: str = Field(foreign_key="user_action_type.user_action_type_id", index=True)
    data: Any = Field(default=None, sa_type=Json)
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()

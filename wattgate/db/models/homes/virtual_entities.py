"""Virtual entities, which are the homes that resources belong to, their types, and the tenancies of meter points."""

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import Enum, Index, text
from sqlmodel import Field

from wattgate.db.column_types import (
    AssignedId,
    JsonColumn,
    StructColumn,
    UtcDateTime,
    created_at_field,
    updated_at_field,
)
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.enums import HomeMemberEnd, TenancyProof


class WantedResource(msgspec.Struct):
    """A resource type that virtual entities of a type must have (`required`) or can have."""

    resource_type_id: str
    required: bool = False


class VirtualEntityType(Tenanted, table=True):
    __tablename__ = "virtual_entity_type"
    key: ClassVar[str] = "ve_type_id"
    quota: ClassVar[Quota | NoQuota] = Quota("virtual entity types", per_application=1_000)

    ve_type_id: str = AssignedId()
    name: str
    description: str = ""
    active: bool = True
    resources: list[WantedResource] = Field(default_factory=list, sa_type=StructColumn(WantedResource))
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class VirtualEntity(Tenanted, table=True):
    """A home in the apps: a location of its owner with its resources."""

    __tablename__ = "virtual_entity"
    key: ClassVar[str] = "ve_id"
    owner: ClassVar[str | None] = "owner_id"
    quota: ClassVar[Quota | NoQuota] = Quota("virtual entities", per_user=500, grows_with_users=True)

    ve_id: str = AssignedId()
    owner_id: str = Field(foreign_key="app_user.user_id", index=True)
    ve_type_id: str = Field(foreign_key="virtual_entity_type.ve_type_id", index=True)
    name: str
    description: str | None = None
    location: str | None = None
    city: str | None = None
    country: str | None = None
    postal_code: str | None = None
    geo_coordinates: str | None = None
    open_street_maps_ref: str | None = None
    time_zone: str | None = None
    attributes: dict[str, Any] = Field(default_factory=dict, sa_type=JsonColumn)
    clone: bool = False
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class VirtualEntityResource(Tenanted, table=True):
    """A resource that belongs to a virtual entity."""

    __tablename__ = "virtual_entity_resource"
    key: ClassVar[str] = "resource_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("A virtual entity has one for each resource, which have quotas.")

    ve_id: str = Field(primary_key=True, foreign_key="virtual_entity.ve_id")
    resource_id: str = Field(primary_key=True, foreign_key="resource.resource_id", index=True)


OPEN = text("ended_at IS NULL")


class HomeMember(Tenanted, table=True):
    """Another person whom the owner of a home has invited to read it, from the invitation to the end of the access.

    `user_id` is the owner, and `member_user_id` the person who has accepted. `name` is how the owner calls the person.
    `email` is the only address that may accept, and is removed then. `digest` is that of the code of an open
    invitation. `ended_at` and `end_reason` are set when the invitation or the access has ended.
    The unique index allows one open access of a person to a home.
    """

    __tablename__ = "home_member"
    __table_args__ = (Index(None, "ve_id", "member_user_id", unique=True, sqlite_where=OPEN, postgresql_where=OPEN),)
    key: ClassVar[str] = "member_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("The operation that invites limits those of a home.")

    member_id: str = AssignedId()
    ve_id: str = Field(foreign_key="virtual_entity.ve_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    member_user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    name: str
    email: str | None = None
    digest: bytes | None = Field(default=None, unique=True)
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)
    joined_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    end_reason: HomeMemberEnd | None = Field(default=None, sa_type=Enum(HomeMemberEnd, native_enum=False, length=16))


UNLISTED = text("listed_change IS NULL OR listed_change <> updated_at")


class MeterPointTenancy(Tenanted, table=True):
    """The time in which a user's household lives at a meter point: from `began_at`, until before `ended_at`.

    `began_at` is None if the application knows no household before this one. `ended_at` is None while it lives there.
    The unique index allows one open tenancy at a meter point of an application. Each statement that changes a tenancy
    sets `updated_at`. `listed_change` is the `updated_at` that the list of erasures has, which is outside the database.
    """

    __tablename__ = "meter_point_tenancy"
    __table_args__ = (
        Index(None, "application_id", "mpxn", unique=True, sqlite_where=OPEN, postgresql_where=OPEN),
        Index(None, "mpxn"),
        Index("ix_meter_point_tenancy_unlisted", "application_id", sqlite_where=UNLISTED, postgresql_where=UNLISTED),
    )
    key: ClassVar[str] = "tenancy_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("tenancies", per_user=5_000, per_parent=("mpxn", 1_000))

    tenancy_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    began_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    proof: TenancyProof = Field(sa_type=Enum(TenancyProof, native_enum=False, length=16))
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()
    listed_change: datetime | None = Field(default=None, sa_type=UtcDateTime)

"""Virtual entities, which are the homes that resources belong to, and their types."""

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, JsonColumn, StructColumn, created_at_field, updated_at_field
from wattgate.db.models.tenancy import Tenanted


class WantedResource(msgspec.Struct):
    """A resource type that virtual entities of a type must have (`required`) or can have."""

    resource_type_id: str
    required: bool = False


class VirtualEntityType(Tenanted, table=True):
    __tablename__ = "virtual_entity_type"
    key: ClassVar[str] = "ve_type_id"

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

    ve_id: str = Field(primary_key=True, foreign_key="virtual_entity.ve_id")
    resource_id: str = Field(primary_key=True, foreign_key="resource.resource_id", index=True)

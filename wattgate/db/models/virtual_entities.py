"""Virtual entities: the homes that resources belong to, and the kinds of them."""

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, Json, Structs, created_at, updated_at
from wattgate.db.models.tenancy import Tenanted


class WantedResource(msgspec.Struct):
    """A resource type that a virtual entity of some type has or may have."""

    resource_type_id: str
    required: bool = False


class VirtualEntityType(Tenanted, table=True):
    __tablename__ = "virtual_entity_type"
    key: ClassVar[str] = "ve_type_id"

    ve_type_id: str = AssignedId()
    name: str
    description: str = ""
    active: bool = True
    resources: list[WantedResource] = Field(default_factory=list, sa_type=Structs(WantedResource))
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class VirtualEntity(Tenanted, table=True):
    """A home, as the apps see it: a place of its owner with the resources that belong to it."""

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
    attributes: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    clone: bool = False
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class VirtualEntityResource(Tenanted, table=True):
    """A resource that belongs to a virtual entity."""

    __tablename__ = "virtual_entity_resource"
    key: ClassVar[str] = "resource_id"

    ve_id: str = Field(primary_key=True, foreign_key="virtual_entity.ve_id")
    resource_id: str = Field(primary_key=True, foreign_key="resource.resource_id", index=True)

"""Every table of the gateway."""

from wattgate.db.models.alerts import AlertType
from wattgate.db.models.content import Faq, QuestionAndReply
from wattgate.db.models.homes import VirtualEntity, VirtualEntityResource, VirtualEntityType, WantedResource
from wattgate.db.models.identity import Account, Token, User
from wattgate.db.models.resources import (
    Reading,
    Resource,
    ResourceType,
    StorageDefinition,
    StorageField,
    Tariff,
)
from wattgate.db.models.tenancy import Application, ApplicationCredential, Tenanted

__all__ = [
    "Account",
    "AlertType",
    "Application",
    "ApplicationCredential",
    "Faq",
    "QuestionAndReply",
    "Reading",
    "Resource",
    "ResourceType",
    "StorageDefinition",
    "StorageField",
    "Tariff",
    "Tenanted",
    "Token",
    "User",
    "VirtualEntity",
    "VirtualEntityResource",
    "VirtualEntityType",
    "WantedResource",
]

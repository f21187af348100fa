"""The notification system's records."""

from typing import ClassVar

from wattgate.db.columns import AssignedId
from wattgate.db.models.tenancy import Tenanted


class AlertType(Tenanted, table=True):
    """A kind of alert; `system_alert_type_id` is the short code of the system alert kind, such as CM01."""

    __tablename__ = "alert_type"
    key: ClassVar[str] = "alert_type_id"

    alert_type_id: str = AssignedId()
    name: str
    system_alert_type_id: str
    description: str = ""
    active: bool = True

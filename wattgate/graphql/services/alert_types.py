"""Find an alert type by its id or short code."""

from sqlmodel import col

from wattgate.db.models import AlertType
from wattgate.db.rows import Rows
from wattgate.errors import NotFound


async def find_alert_type(rows: Rows, id_or_code: str) -> AlertType | None:
    """Return the alert type with this id, or the active one with this short code, or None."""
    alert_types = await rows.all(
        AlertType,
        (col(AlertType.alert_type_id) == id_or_code)
        | ((col(AlertType.system_alert_type_id) == id_or_code) & col(AlertType.active).is_(True)),
        order_by=[AlertType.name],
    )
    return alert_types[0] if alert_types else None


async def require_alert_type(rows: Rows, id_or_code: str) -> AlertType:
    """Return the alert type with this id or short code. Raise NotFound if there is none."""
    alert_type = await find_alert_type(rows, id_or_code)
    if alert_type is None:
        raise NotFound(f"No alert type has the id or short code {id_or_code!r}.")
    return alert_type

"""Add the codes and alert types of the gateway's own mails, and an index for the purge of old registrations.

Each application gets the alert types that it lacks. Codes are encrypted, and deleted after the mail has been sent.
"""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

ALERT_TYPES = {
    "account.verify": ("System: registration", "Code that makes a registered account active"),
    "account.reset": ("System: password reset", "Code that sets a new password"),
    "account.confirm-email": ("System: confirm e-mail address", "Code that confirms a new e-mail address"),
    "account.email-change-requested": (
        "System: e-mail change requested",
        "Notice to the old address before a new one is confirmed",
    ),
    "account.email-changed": ("System: e-mail address changed", "Notice to the old address"),
    "account.password-changed": ("System: password changed", "Notice after a change or reset of the password"),
}


def upgrade() -> None:
    op.add_column("account_mail", sa.Column("secret", sa.String(), nullable=True))
    op.add_column("account_mail", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_account_status_created_at"), "account", ["status", "created_at"], unique=False)
    _add_alert_types()


def _add_alert_types() -> None:
    connection = op.get_bind()
    application = sa.table("application", sa.column("application_id", sa.String))
    alert_type = sa.table(
        "alert_type",
        *(
            sa.column(name, sa.String)
            for name in ("application_id", "alert_type_id", "name", "system_alert_type_id", "description")
        ),
        sa.column("active", sa.Boolean),
    )
    rows = connection.execute(
        sa.select(alert_type.c.application_id, alert_type.c.system_alert_type_id).where(
            alert_type.c.system_alert_type_id.in_(ALERT_TYPES)
        )
    )
    present = {tuple(row) for row in rows}
    missing = [
        {
            "application_id": application_id,
            "alert_type_id": str(uuid4()),
            "name": name,
            "system_alert_type_id": short_code,
            "description": description,
            "active": True,
        }
        for application_id in connection.execute(sa.select(application.c.application_id)).scalars().all()
        for short_code, (name, description) in ALERT_TYPES.items()
        if (application_id, short_code) not in present
    ]
    if missing:
        connection.execute(sa.insert(alert_type), missing)


def downgrade() -> None:
    # The alert types stay, because templates may belong to them. For an earlier version they are like all others.
    op.drop_index(op.f("ix_account_status_created_at"), "account")
    op.drop_column("account_mail", "expires_at")
    op.drop_column("account_mail", "secret")

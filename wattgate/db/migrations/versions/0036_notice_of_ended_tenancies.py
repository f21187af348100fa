"""Add the alert type of the mail about an ended tenancy to each application, and the tenancy to mails of accounts."""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

SHORT_CODE = "account.tenancy-ended"
NAME = "System: moved out"
DESCRIPTION = "Notice that another user has moved in at the meter point"


def upgrade() -> None:
    op.add_column(
        "account_mail",
        sa.Column(
            "tenancy_id",
            sa.String(),
            sa.ForeignKey("meter_point_tenancy.tenancy_id", name=op.f("fk_account_mail_tenancy_id")),
            nullable=True,
        ),
        inline_references=True,  # SQLite cannot add a constraint later
    )
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
    present = sa.select(alert_type.c.application_id).where(alert_type.c.system_alert_type_id == SHORT_CODE)
    lacking = sa.select(application.c.application_id).where(application.c.application_id.not_in(present))
    rows = [
        {
            "application_id": application_id,
            "alert_type_id": str(uuid4()),
            "name": NAME,
            "system_alert_type_id": SHORT_CODE,
            "description": DESCRIPTION,
            "active": True,
        }
        for application_id in connection.execute(lacking).scalars().all()
    ]
    if rows:
        connection.execute(sa.insert(alert_type), rows)


def downgrade() -> None:
    # The alert type stays, because templates may belong to it. For an earlier version it is like all others.
    connection = op.get_bind()
    account_mail = sa.table("account_mail", *(sa.column(name, sa.String) for name in ("account_mail_id", "name")))
    delivery = sa.table("delivery", *(sa.column(name, sa.String) for name in ("target_id", "delivery_id")))
    notices = sa.select(account_mail.c.account_mail_id).where(account_mail.c.name == SHORT_CODE)
    connection.execute(sa.delete(delivery).where(delivery.c.target_id.in_(notices)))
    connection.execute(sa.delete(account_mail).where(account_mail.c.name == SHORT_CODE))
    op.drop_column("account_mail", "tenancy_id")

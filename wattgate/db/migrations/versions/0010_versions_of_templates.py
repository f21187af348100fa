"""Add versions of templates: the existing content is version 1. Notifications store their content."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "template_version",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("version_id", sa.String(), nullable=False),
        sa.Column("template_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("preheader", sa.String(), nullable=False),
        sa.Column("html_template", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("published_by", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_template_version_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["template_id"], ["template.template_id"], name=op.f("fk_template_version_template_id")
        ),
        sa.PrimaryKeyConstraint("version_id", name=op.f("pk_template_version")),
        sa.UniqueConstraint("template_id", "version", name=op.f("uq_template_version_template_id_version")),
    )
    op.create_index(op.f("ix_template_version_application_id"), "template_version", ["application_id"], unique=False)
    op.execute(
        "INSERT INTO template_version (application_id, version_id, template_id, version, subject, preheader,"
        " html_template, created_at, published_at) SELECT application_id, template_id, template_id, 1, '', '',"
        " html_template, updated_at, updated_at FROM template"
    )
    op.add_column("template", sa.Column("version", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("application", sa.Column("culture_code", sa.String(), nullable=False, server_default="en-GB"))
    op.add_column("alert", sa.Column("culture_code", sa.String(), nullable=True))
    op.add_column("notification", sa.Column("template_id", sa.String(), nullable=True))
    op.add_column("notification", sa.Column("template_version", sa.Integer(), nullable=True))
    for column in ("subject", "html", "text"):
        op.add_column("notification", sa.Column(column, sa.String(), nullable=True))


def downgrade() -> None:
    for column in ("template_id", "template_version", "subject", "html", "text"):
        op.drop_column("notification", column)
    op.drop_column("alert", "culture_code")
    op.drop_column("application", "culture_code")
    op.drop_column("template", "version")
    op.drop_table("template_version")

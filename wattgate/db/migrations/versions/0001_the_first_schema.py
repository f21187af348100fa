"""Create the first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "application",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("directory_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("application_id", name=op.f("pk_application")),
    )
    op.create_table(
        "alert_type",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("alert_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("system_alert_type_id", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_alert_type_application_id")
        ),
        sa.PrimaryKeyConstraint("alert_type_id", name=op.f("pk_alert_type")),
    )
    op.create_index(op.f("ix_alert_type_application_id"), "alert_type", ["application_id"], unique=False)
    op.create_table(
        "app_user",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_app_user_application_id")
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_app_user")),
    )
    op.create_index(op.f("ix_app_user_application_id"), "app_user", ["application_id"], unique=False)
    op.create_table(
        "application_credential",
        sa.Column("username", sa.String(), nullable=False),
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("secret_digest", sa.LargeBinary(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"],
            ["application.application_id"],
            name=op.f("fk_application_credential_application_id"),
        ),
        sa.PrimaryKeyConstraint("username", name=op.f("pk_application_credential")),
    )
    op.create_index(
        op.f("ix_application_credential_application_id"),
        "application_credential",
        ["application_id"],
        unique=False,
    )
    op.create_table(
        "faq",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("faq_id", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("minimum_version", sa.String(), nullable=False),
        sa.Column("country", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["application_id"], ["application.application_id"], name=op.f("fk_faq_application_id")),
        sa.PrimaryKeyConstraint("faq_id", name=op.f("pk_faq")),
    )
    op.create_index(op.f("ix_faq_application_id"), "faq", ["application_id"], unique=False)
    op.create_table(
        "resource_type",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("resource_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("classifier", sa.String(), nullable=False),
        sa.Column("storage", JSON, nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("data_source_type", sa.String(), nullable=False),
        sa.Column("data_source_resource_type_info", JSON, nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("base_unit", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_resource_type_application_id")
        ),
        sa.PrimaryKeyConstraint("resource_type_id", name=op.f("pk_resource_type")),
    )
    op.create_index(op.f("ix_resource_type_application_id"), "resource_type", ["application_id"], unique=False)
    op.create_table(
        "virtual_entity_type",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("ve_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("resources", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"],
            ["application.application_id"],
            name=op.f("fk_virtual_entity_type_application_id"),
        ),
        sa.PrimaryKeyConstraint("ve_type_id", name=op.f("pk_virtual_entity_type")),
    )
    op.create_index(
        op.f("ix_virtual_entity_type_application_id"), "virtual_entity_type", ["application_id"], unique=False
    )
    op.create_table(
        "account",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("directory_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("username", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=True),
        sa.Column("administrator", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_account_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_account_user_id")),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_account")),
        sa.UniqueConstraint(
            "application_id",
            "directory_id",
            "username",
            name=op.f("uq_account_application_id_directory_id_username"),
        ),
    )
    op.create_index(op.f("ix_account_application_id"), "account", ["application_id"], unique=False)
    op.create_index(op.f("ix_account_user_id"), "account", ["user_id"], unique=False)
    op.create_table(
        "resource",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("resource_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("classifier", sa.String(), nullable=False),
        sa.Column("base_unit", sa.String(), nullable=False),
        sa.Column("storage", JSON, nullable=False),
        sa.Column("data_source_type", sa.String(), nullable=False),
        sa.Column("data_source_resource_type_info", JSON, nullable=False),
        sa.Column("data_source_unit_info", JSON, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_resource_application_id")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["app_user.user_id"], name=op.f("fk_resource_owner_id")),
        sa.ForeignKeyConstraint(
            ["resource_type_id"],
            ["resource_type.resource_type_id"],
            name=op.f("fk_resource_resource_type_id"),
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_resource")),
        sa.UniqueConstraint("resource_id", name=op.f("uq_resource_resource_id")),
    )
    op.create_index(op.f("ix_resource_application_id"), "resource", ["application_id"], unique=False)
    op.create_index(op.f("ix_resource_owner_id"), "resource", ["owner_id"], unique=False)
    op.create_index(op.f("ix_resource_resource_type_id"), "resource", ["resource_type_id"], unique=False)
    op.create_table(
        "virtual_entity",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("ve_id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("ve_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("location", sa.String(), nullable=True),
        sa.Column("city", sa.String(), nullable=True),
        sa.Column("country", sa.String(), nullable=True),
        sa.Column("postal_code", sa.String(), nullable=True),
        sa.Column("geo_coordinates", sa.String(), nullable=True),
        sa.Column("open_street_maps_ref", sa.String(), nullable=True),
        sa.Column("time_zone", sa.String(), nullable=True),
        sa.Column("attributes", JSON, nullable=False),
        sa.Column("clone", sa.Boolean(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_virtual_entity_application_id")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["app_user.user_id"], name=op.f("fk_virtual_entity_owner_id")),
        sa.ForeignKeyConstraint(
            ["ve_type_id"], ["virtual_entity_type.ve_type_id"], name=op.f("fk_virtual_entity_ve_type_id")
        ),
        sa.PrimaryKeyConstraint("ve_id", name=op.f("pk_virtual_entity")),
    )
    op.create_index(op.f("ix_virtual_entity_application_id"), "virtual_entity", ["application_id"], unique=False)
    op.create_index(op.f("ix_virtual_entity_owner_id"), "virtual_entity", ["owner_id"], unique=False)
    op.create_index(op.f("ix_virtual_entity_ve_type_id"), "virtual_entity", ["ve_type_id"], unique=False)
    op.create_table(
        "reading",
        sa.Column("resource_number", sa.BigInteger(), nullable=False),
        sa.Column("field", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["resource_number"],
            ["resource.number"],
            name=op.f("fk_reading_resource_number"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("resource_number", "field", "at", name=op.f("pk_reading")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tariff",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("tariff_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("rate", sa.BigInteger(), nullable=False),
        sa.Column("standing_charge", sa.BigInteger(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_tariff_application_id")
        ),
        sa.ForeignKeyConstraint(["resource_id"], ["resource.resource_id"], name=op.f("fk_tariff_resource_id")),
        sa.PrimaryKeyConstraint("tariff_id", name=op.f("pk_tariff")),
    )
    op.create_index(op.f("ix_tariff_application_id"), "tariff", ["application_id"], unique=False)
    op.create_index(op.f("ix_tariff_resource_id"), "tariff", ["resource_id"], unique=False)
    op.create_table(
        "token",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_token_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_token_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_token_user_id")),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
    )
    op.create_index(op.f("ix_token_account_id"), "token", ["account_id"], unique=False)
    op.create_index(op.f("ix_token_application_id"), "token", ["application_id"], unique=False)
    op.create_index(op.f("ix_token_user_id"), "token", ["user_id"], unique=False)
    op.create_table(
        "virtual_entity_resource",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("ve_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"],
            ["application.application_id"],
            name=op.f("fk_virtual_entity_resource_application_id"),
        ),
        sa.ForeignKeyConstraint(
            ["resource_id"], ["resource.resource_id"], name=op.f("fk_virtual_entity_resource_resource_id")
        ),
        sa.ForeignKeyConstraint(["ve_id"], ["virtual_entity.ve_id"], name=op.f("fk_virtual_entity_resource_ve_id")),
        sa.PrimaryKeyConstraint("ve_id", "resource_id", name=op.f("pk_virtual_entity_resource")),
    )
    op.create_index(
        op.f("ix_virtual_entity_resource_application_id"),
        "virtual_entity_resource",
        ["application_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_virtual_entity_resource_resource_id"),
        "virtual_entity_resource",
        ["resource_id"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_virtual_entity_resource_resource_id"), table_name="virtual_entity_resource")
    op.drop_index(op.f("ix_virtual_entity_resource_application_id"), table_name="virtual_entity_resource")
    op.drop_table("virtual_entity_resource")
    op.drop_index(op.f("ix_token_user_id"), table_name="token")
    op.drop_index(op.f("ix_token_application_id"), table_name="token")
    op.drop_index(op.f("ix_token_account_id"), table_name="token")
    op.drop_table("token")
    op.drop_index(op.f("ix_tariff_resource_id"), table_name="tariff")
    op.drop_index(op.f("ix_tariff_application_id"), table_name="tariff")
    op.drop_table("tariff")
    op.drop_table("reading")
    op.drop_index(op.f("ix_virtual_entity_ve_type_id"), table_name="virtual_entity")
    op.drop_index(op.f("ix_virtual_entity_owner_id"), table_name="virtual_entity")
    op.drop_index(op.f("ix_virtual_entity_application_id"), table_name="virtual_entity")
    op.drop_table("virtual_entity")
    op.drop_index(op.f("ix_resource_resource_type_id"), table_name="resource")
    op.drop_index(op.f("ix_resource_owner_id"), table_name="resource")
    op.drop_index(op.f("ix_resource_application_id"), table_name="resource")
    op.drop_table("resource")
    op.drop_index(op.f("ix_account_user_id"), table_name="account")
    op.drop_index(op.f("ix_account_application_id"), table_name="account")
    op.drop_table("account")
    op.drop_index(op.f("ix_virtual_entity_type_application_id"), table_name="virtual_entity_type")
    op.drop_table("virtual_entity_type")
    op.drop_index(op.f("ix_resource_type_application_id"), table_name="resource_type")
    op.drop_table("resource_type")
    op.drop_index(op.f("ix_faq_application_id"), table_name="faq")
    op.drop_table("faq")
    op.drop_index(op.f("ix_application_credential_application_id"), table_name="application_credential")
    op.drop_table("application_credential")
    op.drop_index(op.f("ix_app_user_application_id"), table_name="app_user")
    op.drop_table("app_user")
    op.drop_index(op.f("ix_alert_type_application_id"), table_name="alert_type")
    op.drop_table("alert_type")
    op.drop_table("application")

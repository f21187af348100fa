"""Add the tables of the other operations of SPEC.md."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "network_device",
        sa.Column("eui", sa.String(), nullable=False),
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("device_type", sa.String(), nullable=False),
        sa.Column("manufacturer", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("firmware_version", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("commissioned_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("eui", name=op.f("pk_network_device")),
    )
    op.create_index(op.f("ix_network_device_mpxn"), "network_device", ["mpxn"], unique=False)
    op.create_table(
        "network_meter_point",
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("postcode", sa.String(), nullable=False),
        sa.Column("smets_version", sa.String(), nullable=False),
        sa.Column("eligible", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("mpxn", name=op.f("pk_network_meter_point")),
    )
    op.create_table(
        "network_reading",
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("classifier", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mpxn", "classifier", "at", name=op.f("pk_network_reading")),
    )
    op.create_table(
        "network_register",
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("classifier", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("mpxn", "classifier", name=op.f("pk_network_register")),
    )
    op.create_table(
        "content",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("content_id", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_content_application_id")
        ),
        sa.PrimaryKeyConstraint("content_id", name=op.f("pk_content")),
    )
    op.create_index(op.f("ix_content_application_id"), "content", ["application_id"], unique=False)
    op.create_table(
        "device_type",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("device_type_id", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("protocol", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_device_type_application_id")
        ),
        sa.PrimaryKeyConstraint("device_type_id", name=op.f("pk_device_type")),
    )
    op.create_index(op.f("ix_device_type_application_id"), "device_type", ["application_id"], unique=False)
    op.create_table(
        "dfs_event",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("dfs_event_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reward", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_dfs_event_application_id")
        ),
        sa.PrimaryKeyConstraint("dfs_event_id", name=op.f("pk_dfs_event")),
    )
    op.create_index(op.f("ix_dfs_event_application_id"), "dfs_event", ["application_id"], unique=False)
    op.create_table(
        "oauth_client",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("secret_digest", sa.LargeBinary(), nullable=True),
        sa.Column("redirect_uris", JSON, nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_oauth_client_application_id")
        ),
        sa.PrimaryKeyConstraint("client_id", name=op.f("pk_oauth_client")),
    )
    op.create_index(op.f("ix_oauth_client_application_id"), "oauth_client", ["application_id"], unique=False)
    op.create_table(
        "prompt_type",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("prompt_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_prompt_type_application_id")
        ),
        sa.PrimaryKeyConstraint("prompt_type_id", name=op.f("pk_prompt_type")),
    )
    op.create_index(op.f("ix_prompt_type_application_id"), "prompt_type", ["application_id"], unique=False)
    op.create_table(
        "support_details",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("support_details_id", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("country", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("telephone", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_support_details_application_id")
        ),
        sa.PrimaryKeyConstraint("support_details_id", name=op.f("pk_support_details")),
    )
    op.create_index(op.f("ix_support_details_application_id"), "support_details", ["application_id"], unique=False)
    op.create_table(
        "terms_conditions",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("tc_id", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_terms_conditions_application_id")
        ),
        sa.PrimaryKeyConstraint("tc_id", name=op.f("pk_terms_conditions")),
    )
    op.create_index(op.f("ix_terms_conditions_application_id"), "terms_conditions", ["application_id"], unique=False)
    op.create_table(
        "user_action_type",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("user_action_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_user_action_type_application_id")
        ),
        sa.PrimaryKeyConstraint("user_action_type_id", name=op.f("pk_user_action_type")),
    )
    op.create_index(op.f("ix_user_action_type_application_id"), "user_action_type", ["application_id"], unique=False)
    op.create_table(
        "alert",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("alert_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("alert_type_id", sa.String(), nullable=False),
        sa.Column("system_alert_type_id", sa.String(), nullable=False),
        sa.Column("channels", JSON, nullable=False),
        sa.Column("priority", sa.String(), nullable=False),
        sa.Column("callback_url", sa.String(), nullable=True),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["alert_type_id"], ["alert_type.alert_type_id"], name=op.f("fk_alert_alert_type_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_alert_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_alert_user_id")),
        sa.PrimaryKeyConstraint("alert_id", name=op.f("pk_alert")),
    )
    op.create_index(op.f("ix_alert_alert_type_id"), "alert", ["alert_type_id"], unique=False)
    op.create_index(op.f("ix_alert_application_id"), "alert", ["application_id"], unique=False)
    op.create_index(op.f("ix_alert_user_id"), "alert", ["user_id"], unique=False)
    op.create_table(
        "consent_change",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("change_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_consent_change_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_consent_change_user_id")),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_consent_change")),
    )
    op.create_index(op.f("ix_consent_change_application_id"), "consent_change", ["application_id"], unique=False)
    op.create_index(op.f("ix_consent_change_user_id"), "consent_change", ["user_id"], unique=False)
    op.create_table(
        "device",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("device_id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("device_type_id", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("hardware_id", sa.String(), nullable=False),
        sa.Column("hardware_key", sa.String(), nullable=False),
        sa.Column("hardware_ids", JSON, nullable=False),
        sa.Column("parent_hardware_id", JSON, nullable=False),
        sa.Column("tags", JSON, nullable=False),
        sa.Column("protocol_name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_device_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["device_type_id"], ["device_type.device_type_id"], name=op.f("fk_device_device_type_id")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["app_user.user_id"], name=op.f("fk_device_owner_id")),
        sa.PrimaryKeyConstraint("device_id", name=op.f("pk_device")),
        sa.UniqueConstraint("application_id", "hardware_key", name=op.f("uq_device_application_id_hardware_key")),
    )
    op.create_index(op.f("ix_device_application_id"), "device", ["application_id"], unique=False)
    op.create_index(op.f("ix_device_device_type_id"), "device", ["device_type_id"], unique=False)
    op.create_index(op.f("ix_device_owner_id"), "device", ["owner_id"], unique=False)
    op.create_table(
        "dfs_participation",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("participation_id", sa.String(), nullable=False),
        sa.Column("dfs_event_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_dfs_participation_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["dfs_event_id"], ["dfs_event.dfs_event_id"], name=op.f("fk_dfs_participation_dfs_event_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_dfs_participation_user_id")),
        sa.PrimaryKeyConstraint("participation_id", name=op.f("pk_dfs_participation")),
        sa.UniqueConstraint(
            "dfs_event_id", "user_id", "mpxn", name=op.f("uq_dfs_participation_dfs_event_id_user_id_mpxn")
        ),
    )
    op.create_index(op.f("ix_dfs_participation_application_id"), "dfs_participation", ["application_id"], unique=False)
    op.create_index(op.f("ix_dfs_participation_dfs_event_id"), "dfs_participation", ["dfs_event_id"], unique=False)
    op.create_index(op.f("ix_dfs_participation_user_id"), "dfs_participation", ["user_id"], unique=False)
    op.create_table(
        "dfs_user",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("dfs_user_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_dfs_user_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_dfs_user_user_id")),
        sa.PrimaryKeyConstraint("dfs_user_id", name=op.f("pk_dfs_user")),
    )
    op.create_index(op.f("ix_dfs_user_application_id"), "dfs_user", ["application_id"], unique=False)
    op.create_index(op.f("ix_dfs_user_user_id"), "dfs_user", ["user_id"], unique=False)
    op.create_table(
        "language_content",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("language_content_id", sa.String(), nullable=False),
        sa.Column("content_id", sa.String(), nullable=False),
        sa.Column("culture_code", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_language_content_application_id")
        ),
        sa.ForeignKeyConstraint(["content_id"], ["content.content_id"], name=op.f("fk_language_content_content_id")),
        sa.PrimaryKeyConstraint("language_content_id", name=op.f("pk_language_content")),
    )
    op.create_index(op.f("ix_language_content_application_id"), "language_content", ["application_id"], unique=False)
    op.create_index(op.f("ix_language_content_content_id"), "language_content", ["content_id"], unique=False)
    op.create_table(
        "meter_point_consent",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("consent_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("mpxn", sa.String(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_meter_point_consent_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_meter_point_consent_user_id")),
        sa.PrimaryKeyConstraint("consent_id", name=op.f("pk_meter_point_consent")),
        sa.UniqueConstraint(
            "application_id", "user_id", "mpxn", name=op.f("uq_meter_point_consent_application_id_user_id_mpxn")
        ),
    )
    op.create_index(
        op.f("ix_meter_point_consent_application_id"), "meter_point_consent", ["application_id"], unique=False
    )
    op.create_index(op.f("ix_meter_point_consent_mpxn"), "meter_point_consent", ["mpxn"], unique=False)
    op.create_index(op.f("ix_meter_point_consent_user_id"), "meter_point_consent", ["user_id"], unique=False)
    op.create_table(
        "prompt",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("prompt_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_prompt_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["prompt_type_id"], ["prompt_type.prompt_type_id"], name=op.f("fk_prompt_prompt_type_id")
        ),
        sa.PrimaryKeyConstraint("prompt_id", name=op.f("pk_prompt")),
    )
    op.create_index(op.f("ix_prompt_application_id"), "prompt", ["application_id"], unique=False)
    op.create_index(op.f("ix_prompt_prompt_type_id"), "prompt", ["prompt_type_id"], unique=False)
    op.create_table(
        "template",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("template_id", sa.String(), nullable=False),
        sa.Column("alert_type_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("system_alert_type_id", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("channel_type", sa.String(), nullable=False),
        sa.Column("culture_code", sa.String(), nullable=False),
        sa.Column("html_template", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["alert_type_id"], ["alert_type.alert_type_id"], name=op.f("fk_template_alert_type_id")
        ),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_template_application_id")
        ),
        sa.PrimaryKeyConstraint("template_id", name=op.f("pk_template")),
    )
    op.create_index(op.f("ix_template_alert_type_id"), "template", ["alert_type_id"], unique=False)
    op.create_index(op.f("ix_template_application_id"), "template", ["application_id"], unique=False)
    op.create_table(
        "terms_conditions_user",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("tc_user_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("tc_id", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_terms_conditions_user_application_id")
        ),
        sa.ForeignKeyConstraint(["tc_id"], ["terms_conditions.tc_id"], name=op.f("fk_terms_conditions_user_tc_id")),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_terms_conditions_user_user_id")),
        sa.PrimaryKeyConstraint("tc_user_id", name=op.f("pk_terms_conditions_user")),
    )
    op.create_index(
        op.f("ix_terms_conditions_user_application_id"), "terms_conditions_user", ["application_id"], unique=False
    )
    op.create_index(op.f("ix_terms_conditions_user_tc_id"), "terms_conditions_user", ["tc_id"], unique=False)
    op.create_index(op.f("ix_terms_conditions_user_user_id"), "terms_conditions_user", ["user_id"], unique=False)
    op.create_table(
        "user_action",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("user_action_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("user_action_type_id", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_user_action_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["user_action_type_id"],
            ["user_action_type.user_action_type_id"],
            name=op.f("fk_user_action_user_action_type_id"),
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_user_action_user_id")),
        sa.PrimaryKeyConstraint("user_action_id", name=op.f("pk_user_action")),
    )
    op.create_index(op.f("ix_user_action_application_id"), "user_action", ["application_id"], unique=False)
    op.create_index(op.f("ix_user_action_user_action_type_id"), "user_action", ["user_action_type_id"], unique=False)
    op.create_index(op.f("ix_user_action_user_id"), "user_action", ["user_id"], unique=False)
    op.create_table(
        "webhook",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("webhook_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("callback_url", sa.String(), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("number_of_attempts", sa.Integer(), nullable=False),
        sa.Column("successful_attempt", JSON, nullable=False),
        sa.Column("failed_attempts", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_webhook_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_webhook_user_id")),
        sa.PrimaryKeyConstraint("webhook_id", name=op.f("pk_webhook")),
    )
    op.create_index(op.f("ix_webhook_application_id"), "webhook", ["application_id"], unique=False)
    op.create_index(op.f("ix_webhook_user_id"), "webhook", ["user_id"], unique=False)
    op.create_table(
        "account_profile",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("profile_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("profile_name", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_account_profile_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_account_profile_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_account_profile_user_id")),
        sa.PrimaryKeyConstraint("profile_id", name=op.f("pk_account_profile")),
        sa.UniqueConstraint("account_id", "profile_name", name=op.f("uq_account_profile_account_id_profile_name")),
    )
    op.create_index(op.f("ix_account_profile_account_id"), "account_profile", ["account_id"], unique=False)
    op.create_index(op.f("ix_account_profile_application_id"), "account_profile", ["application_id"], unique=False)
    op.create_index(op.f("ix_account_profile_user_id"), "account_profile", ["user_id"], unique=False)
    op.create_table(
        "account_session",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_account_session_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_account_session_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_account_session_user_id")),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_account_session")),
    )
    op.create_index(op.f("ix_account_session_application_id"), "account_session", ["application_id"], unique=False)
    op.create_index(op.f("ix_account_session_user_id"), "account_session", ["user_id"], unique=False)
    op.create_table(
        "authorization_code",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("code_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("redirect_uri", sa.String(), nullable=False),
        sa.Column("code_challenge", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_authorization_code_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_authorization_code_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["client_id"], ["oauth_client.client_id"], name=op.f("fk_authorization_code_client_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_authorization_code_user_id")),
        sa.PrimaryKeyConstraint("code_id", name=op.f("pk_authorization_code")),
        sa.UniqueConstraint("digest", name=op.f("uq_authorization_code_digest")),
    )
    op.create_index(op.f("ix_authorization_code_account_id"), "authorization_code", ["account_id"], unique=False)
    op.create_index(
        op.f("ix_authorization_code_application_id"), "authorization_code", ["application_id"], unique=False
    )
    op.create_index(op.f("ix_authorization_code_client_id"), "authorization_code", ["client_id"], unique=False)
    op.create_index(op.f("ix_authorization_code_user_id"), "authorization_code", ["user_id"], unique=False)
    op.create_table(
        "catch_up",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("catch_up_id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column(
            "state",
            sa.Enum("QUEUED", "RUNNING", "DONE", "FAILED", name="catchupstate", native_enum=False, length=16),
            nullable=False,
        ),
        sa.Column("recorded", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_catch_up_application_id")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["app_user.user_id"], name=op.f("fk_catch_up_owner_id")),
        sa.ForeignKeyConstraint(["resource_id"], ["resource.resource_id"], name=op.f("fk_catch_up_resource_id")),
        sa.PrimaryKeyConstraint("catch_up_id", name=op.f("pk_catch_up")),
    )
    op.create_index(op.f("ix_catch_up_application_id"), "catch_up", ["application_id"], unique=False)
    op.create_index(op.f("ix_catch_up_owner_id"), "catch_up", ["owner_id"], unique=False)
    op.create_index(op.f("ix_catch_up_resource_id"), "catch_up", ["resource_id"], unique=False)
    op.create_index(op.f("ix_catch_up_state"), "catch_up", ["state"], unique=False)
    op.create_table(
        "device_sensor",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("device_id", sa.String(), nullable=False),
        sa.Column("protocol_id", sa.String(), nullable=False),
        sa.Column("resource_type_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_device_sensor_application_id")
        ),
        sa.ForeignKeyConstraint(["device_id"], ["device.device_id"], name=op.f("fk_device_sensor_device_id")),
        sa.ForeignKeyConstraint(["resource_id"], ["resource.resource_id"], name=op.f("fk_device_sensor_resource_id")),
        sa.ForeignKeyConstraint(
            ["resource_type_id"], ["resource_type.resource_type_id"], name=op.f("fk_device_sensor_resource_type_id")
        ),
        sa.PrimaryKeyConstraint("device_id", "protocol_id", name=op.f("pk_device_sensor")),
    )
    op.create_index(op.f("ix_device_sensor_application_id"), "device_sensor", ["application_id"], unique=False)
    op.create_index(op.f("ix_device_sensor_resource_id"), "device_sensor", ["resource_id"], unique=False)
    op.create_table(
        "mobile_app_token",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("mobile_app_token_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_mobile_app_token_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_mobile_app_token_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_mobile_app_token_user_id")),
        sa.PrimaryKeyConstraint("mobile_app_token_id", name=op.f("pk_mobile_app_token")),
        sa.UniqueConstraint("account_id", "token", name=op.f("uq_mobile_app_token_account_id_token")),
    )
    op.create_index(op.f("ix_mobile_app_token_account_id"), "mobile_app_token", ["account_id"], unique=False)
    op.create_index(op.f("ix_mobile_app_token_application_id"), "mobile_app_token", ["application_id"], unique=False)
    op.create_index(op.f("ix_mobile_app_token_user_id"), "mobile_app_token", ["user_id"], unique=False)
    op.create_table(
        "notification",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("notification_id", sa.String(), nullable=False),
        sa.Column("alert_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["alert_id"], ["alert.alert_id"], name=op.f("fk_notification_alert_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_notification_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_notification_user_id")),
        sa.PrimaryKeyConstraint("notification_id", name=op.f("pk_notification")),
    )
    op.create_index(op.f("ix_notification_alert_id"), "notification", ["alert_id"], unique=False)
    op.create_index(op.f("ix_notification_application_id"), "notification", ["application_id"], unique=False)
    op.create_index(op.f("ix_notification_user_id"), "notification", ["user_id"], unique=False)
    op.create_table(
        "one_time_code",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("code_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_one_time_code_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_one_time_code_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_one_time_code_user_id")),
        sa.PrimaryKeyConstraint("code_id", name=op.f("pk_one_time_code")),
    )
    op.create_index(op.f("ix_one_time_code_account_id"), "one_time_code", ["account_id"], unique=False)
    op.create_index(op.f("ix_one_time_code_application_id"), "one_time_code", ["application_id"], unique=False)
    op.create_index(op.f("ix_one_time_code_user_id"), "one_time_code", ["user_id"], unique=False)
    op.create_table(
        "prompt_user",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("prompt_user_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_prompt_user_application_id")
        ),
        sa.ForeignKeyConstraint(["prompt_id"], ["prompt.prompt_id"], name=op.f("fk_prompt_user_prompt_id")),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_prompt_user_user_id")),
        sa.PrimaryKeyConstraint("prompt_user_id", name=op.f("pk_prompt_user")),
    )
    op.create_index(op.f("ix_prompt_user_application_id"), "prompt_user", ["application_id"], unique=False)
    op.create_index(op.f("ix_prompt_user_prompt_id"), "prompt_user", ["prompt_id"], unique=False)
    op.create_index(op.f("ix_prompt_user_user_id"), "prompt_user", ["user_id"], unique=False)
    op.create_table(
        "refresh_token",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("refresh_token_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.account_id"], name=op.f("fk_refresh_token_account_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_refresh_token_application_id")
        ),
        sa.ForeignKeyConstraint(["client_id"], ["oauth_client.client_id"], name=op.f("fk_refresh_token_client_id")),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_refresh_token_user_id")),
        sa.PrimaryKeyConstraint("refresh_token_id", name=op.f("pk_refresh_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_refresh_token_digest")),
    )
    op.create_index(op.f("ix_refresh_token_account_id"), "refresh_token", ["account_id"], unique=False)
    op.create_index(op.f("ix_refresh_token_application_id"), "refresh_token", ["application_id"], unique=False)
    op.create_index(op.f("ix_refresh_token_client_id"), "refresh_token", ["client_id"], unique=False)
    op.create_index(op.f("ix_refresh_token_family"), "refresh_token", ["family"], unique=False)
    op.create_index(op.f("ix_refresh_token_user_id"), "refresh_token", ["user_id"], unique=False)
    op.create_table(
        "webhook_error",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("error_id", sa.String(), nullable=False),
        sa.Column("webhook_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("callback_url", sa.String(), nullable=False),
        sa.Column("attempt", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_webhook_error_application_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_webhook_error_user_id")),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhook.webhook_id"], name=op.f("fk_webhook_error_webhook_id")),
        sa.PrimaryKeyConstraint("error_id", name=op.f("pk_webhook_error")),
    )
    op.create_index(op.f("ix_webhook_error_application_id"), "webhook_error", ["application_id"], unique=False)
    op.create_index(op.f("ix_webhook_error_user_id"), "webhook_error", ["user_id"], unique=False)
    op.create_index(op.f("ix_webhook_error_webhook_id"), "webhook_error", ["webhook_id"], unique=False)
    op.create_table(
        "notification_log",
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("log_id", sa.String(), nullable=False),
        sa.Column("notification_id", sa.String(), nullable=False),
        sa.Column("alert_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("status_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["alert_id"], ["alert.alert_id"], name=op.f("fk_notification_log_alert_id")),
        sa.ForeignKeyConstraint(
            ["application_id"], ["application.application_id"], name=op.f("fk_notification_log_application_id")
        ),
        sa.ForeignKeyConstraint(
            ["notification_id"], ["notification.notification_id"], name=op.f("fk_notification_log_notification_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.user_id"], name=op.f("fk_notification_log_user_id")),
        sa.PrimaryKeyConstraint("log_id", name=op.f("pk_notification_log")),
    )
    op.create_index(op.f("ix_notification_log_application_id"), "notification_log", ["application_id"], unique=False)
    op.create_index(op.f("ix_notification_log_notification_id"), "notification_log", ["notification_id"], unique=False)
    op.add_column("account", sa.Column("failures", sa.Integer(), server_default="0", nullable=False))
    op.add_column("account", sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("resource", sa.Column("mpxn", sa.String(), nullable=True))
    op.create_index(op.f("ix_resource_mpxn"), "resource", ["mpxn"], unique=False)
    op.add_column("token", sa.Column("scope", sa.String(), nullable=True))
    op.add_column("token", sa.Column("family", sa.String(), nullable=True))
    op.add_column("token", sa.Column("authentication_framework", sa.String(), nullable=True))
    op.add_column("token", sa.Column("grant_type", sa.String(), nullable=True))
    op.create_index(op.f("ix_token_family"), "token", ["family"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_token_family"), table_name="token")
    op.drop_column("token", "grant_type")
    op.drop_column("token", "authentication_framework")
    op.drop_column("token", "family")
    op.drop_column("token", "scope")
    op.drop_index(op.f("ix_resource_mpxn"), table_name="resource")
    op.drop_column("resource", "mpxn")
    op.drop_column("account", "failed_at")
    op.drop_column("account", "failures")
    op.drop_index(op.f("ix_notification_log_notification_id"), table_name="notification_log")
    op.drop_index(op.f("ix_notification_log_application_id"), table_name="notification_log")
    op.drop_table("notification_log")
    op.drop_index(op.f("ix_webhook_error_webhook_id"), table_name="webhook_error")
    op.drop_index(op.f("ix_webhook_error_user_id"), table_name="webhook_error")
    op.drop_index(op.f("ix_webhook_error_application_id"), table_name="webhook_error")
    op.drop_table("webhook_error")
    op.drop_index(op.f("ix_refresh_token_user_id"), table_name="refresh_token")
    op.drop_index(op.f("ix_refresh_token_family"), table_name="refresh_token")
    op.drop_index(op.f("ix_refresh_token_client_id"), table_name="refresh_token")
    op.drop_index(op.f("ix_refresh_token_application_id"), table_name="refresh_token")
    op.drop_index(op.f("ix_refresh_token_account_id"), table_name="refresh_token")
    op.drop_table("refresh_token")
    op.drop_index(op.f("ix_prompt_user_user_id"), table_name="prompt_user")
    op.drop_index(op.f("ix_prompt_user_prompt_id"), table_name="prompt_user")
    op.drop_index(op.f("ix_prompt_user_application_id"), table_name="prompt_user")
    op.drop_table("prompt_user")
    op.drop_index(op.f("ix_one_time_code_user_id"), table_name="one_time_code")
    op.drop_index(op.f("ix_one_time_code_application_id"), table_name="one_time_code")
    op.drop_index(op.f("ix_one_time_code_account_id"), table_name="one_time_code")
    op.drop_table("one_time_code")
    op.drop_index(op.f("ix_notification_user_id"), table_name="notification")
    op.drop_index(op.f("ix_notification_application_id"), table_name="notification")
    op.drop_index(op.f("ix_notification_alert_id"), table_name="notification")
    op.drop_table("notification")
    op.drop_index(op.f("ix_mobile_app_token_user_id"), table_name="mobile_app_token")
    op.drop_index(op.f("ix_mobile_app_token_application_id"), table_name="mobile_app_token")
    op.drop_index(op.f("ix_mobile_app_token_account_id"), table_name="mobile_app_token")
    op.drop_table("mobile_app_token")
    op.drop_index(op.f("ix_device_sensor_resource_id"), table_name="device_sensor")
    op.drop_index(op.f("ix_device_sensor_application_id"), table_name="device_sensor")
    op.drop_table("device_sensor")
    op.drop_index(op.f("ix_catch_up_state"), table_name="catch_up")
    op.drop_index(op.f("ix_catch_up_resource_id"), table_name="catch_up")
    op.drop_index(op.f("ix_catch_up_owner_id"), table_name="catch_up")
    op.drop_index(op.f("ix_catch_up_application_id"), table_name="catch_up")
    op.drop_table("catch_up")
    op.drop_index(op.f("ix_authorization_code_user_id"), table_name="authorization_code")
    op.drop_index(op.f("ix_authorization_code_client_id"), table_name="authorization_code")
    op.drop_index(op.f("ix_authorization_code_application_id"), table_name="authorization_code")
    op.drop_index(op.f("ix_authorization_code_account_id"), table_name="authorization_code")
    op.drop_table("authorization_code")
    op.drop_index(op.f("ix_account_session_user_id"), table_name="account_session")
    op.drop_index(op.f("ix_account_session_application_id"), table_name="account_session")
    op.drop_table("account_session")
    op.drop_index(op.f("ix_account_profile_user_id"), table_name="account_profile")
    op.drop_index(op.f("ix_account_profile_application_id"), table_name="account_profile")
    op.drop_index(op.f("ix_account_profile_account_id"), table_name="account_profile")
    op.drop_table("account_profile")
    op.drop_index(op.f("ix_webhook_user_id"), table_name="webhook")
    op.drop_index(op.f("ix_webhook_application_id"), table_name="webhook")
    op.drop_table("webhook")
    op.drop_index(op.f("ix_user_action_user_id"), table_name="user_action")
    op.drop_index(op.f("ix_user_action_user_action_type_id"), table_name="user_action")
    op.drop_index(op.f("ix_user_action_application_id"), table_name="user_action")
    op.drop_table("user_action")
    op.drop_index(op.f("ix_terms_conditions_user_user_id"), table_name="terms_conditions_user")
    op.drop_index(op.f("ix_terms_conditions_user_tc_id"), table_name="terms_conditions_user")
    op.drop_index(op.f("ix_terms_conditions_user_application_id"), table_name="terms_conditions_user")
    op.drop_table("terms_conditions_user")
    op.drop_index(op.f("ix_template_application_id"), table_name="template")
    op.drop_index(op.f("ix_template_alert_type_id"), table_name="template")
    op.drop_table("template")
    op.drop_index(op.f("ix_prompt_prompt_type_id"), table_name="prompt")
    op.drop_index(op.f("ix_prompt_application_id"), table_name="prompt")
    op.drop_table("prompt")
    op.drop_index(op.f("ix_meter_point_consent_user_id"), table_name="meter_point_consent")
    op.drop_index(op.f("ix_meter_point_consent_mpxn"), table_name="meter_point_consent")
    op.drop_index(op.f("ix_meter_point_consent_application_id"), table_name="meter_point_consent")
    op.drop_table("meter_point_consent")
    op.drop_index(op.f("ix_language_content_content_id"), table_name="language_content")
    op.drop_index(op.f("ix_language_content_application_id"), table_name="language_content")
    op.drop_table("language_content")
    op.drop_index(op.f("ix_dfs_user_user_id"), table_name="dfs_user")
    op.drop_index(op.f("ix_dfs_user_application_id"), table_name="dfs_user")
    op.drop_table("dfs_user")
    op.drop_index(op.f("ix_dfs_participation_user_id"), table_name="dfs_participation")
    op.drop_index(op.f("ix_dfs_participation_dfs_event_id"), table_name="dfs_participation")
    op.drop_index(op.f("ix_dfs_participation_application_id"), table_name="dfs_participation")
    op.drop_table("dfs_participation")
    op.drop_index(op.f("ix_device_owner_id"), table_name="device")
    op.drop_index(op.f("ix_device_device_type_id"), table_name="device")
    op.drop_index(op.f("ix_device_application_id"), table_name="device")
    op.drop_table("device")
    op.drop_index(op.f("ix_consent_change_user_id"), table_name="consent_change")
    op.drop_index(op.f("ix_consent_change_application_id"), table_name="consent_change")
    op.drop_table("consent_change")
    op.drop_index(op.f("ix_alert_user_id"), table_name="alert")
    op.drop_index(op.f("ix_alert_application_id"), table_name="alert")
    op.drop_index(op.f("ix_alert_alert_type_id"), table_name="alert")
    op.drop_table("alert")
    op.drop_index(op.f("ix_user_action_type_application_id"), table_name="user_action_type")
    op.drop_table("user_action_type")
    op.drop_index(op.f("ix_terms_conditions_application_id"), table_name="terms_conditions")
    op.drop_table("terms_conditions")
    op.drop_index(op.f("ix_support_details_application_id"), table_name="support_details")
    op.drop_table("support_details")
    op.drop_index(op.f("ix_prompt_type_application_id"), table_name="prompt_type")
    op.drop_table("prompt_type")
    op.drop_index(op.f("ix_oauth_client_application_id"), table_name="oauth_client")
    op.drop_table("oauth_client")
    op.drop_index(op.f("ix_dfs_event_application_id"), table_name="dfs_event")
    op.drop_table("dfs_event")
    op.drop_index(op.f("ix_device_type_application_id"), table_name="device_type")
    op.drop_table("device_type")
    op.drop_index(op.f("ix_content_application_id"), table_name="content")
    op.drop_table("content")
    op.drop_table("network_register")
    op.drop_table("network_reading")
    op.drop_table("network_meter_point")
    op.drop_index(op.f("ix_network_device_mpxn"), table_name="network_device")
    op.drop_table("network_device")

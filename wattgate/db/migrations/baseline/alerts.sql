-- Alert types, rules, alerts, templates and notifications.

CREATE TABLE alert_type (
    application_id VARCHAR NOT NULL,
    alert_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    system_alert_type_id VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    variables JSONB,
    rule_kind VARCHAR(16),
    CONSTRAINT pk_alert_type PRIMARY KEY (alert_type_id),
    CONSTRAINT fk_alert_type_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_alert_type_application_id ON alert_type (application_id);

CREATE TABLE alert (
    application_id VARCHAR NOT NULL,
    alert_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    alert_type_id VARCHAR NOT NULL,
    system_alert_type_id VARCHAR NOT NULL,
    channels JSONB NOT NULL,
    priority VARCHAR NOT NULL,
    callback_url VARCHAR,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    read_at TIMESTAMPTZ,
    culture_code VARCHAR,
    ve_id VARCHAR,
    resource_id VARCHAR,
    CONSTRAINT pk_alert PRIMARY KEY (alert_id),
    CONSTRAINT fk_alert_alert_type_id FOREIGN KEY(alert_type_id) REFERENCES alert_type (alert_type_id),
    CONSTRAINT fk_alert_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_alert_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_alert_alert_type_id ON alert (alert_type_id);
CREATE INDEX ix_alert_application_id ON alert (application_id);
CREATE INDEX ix_alert_user_id ON alert (user_id);

CREATE TABLE template (
    application_id VARCHAR NOT NULL,
    template_id VARCHAR NOT NULL,
    alert_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    system_alert_type_id VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    channel_type VARCHAR NOT NULL,
    culture_code VARCHAR NOT NULL,
    html_template VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    version INTEGER DEFAULT '1' NOT NULL,
    archived_at TIMESTAMPTZ,
    CONSTRAINT pk_template PRIMARY KEY (template_id),
    CONSTRAINT fk_template_alert_type_id FOREIGN KEY(alert_type_id) REFERENCES alert_type (alert_type_id),
    CONSTRAINT fk_template_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_template_alert_type_id ON template (alert_type_id);
CREATE INDEX ix_template_application_id ON template (application_id);

CREATE TABLE alert_rule (
    application_id VARCHAR NOT NULL,
    rule_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    resource_id VARCHAR NOT NULL,
    ve_id VARCHAR,
    field VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    kind VARCHAR(16) NOT NULL,
    function VARCHAR(16) NOT NULL,
    side VARCHAR(16) NOT NULL,
    threshold BIGINT,
    hysteresis BIGINT NOT NULL,
    window_minutes INTEGER NOT NULL,
    period VARCHAR(16) NOT NULL,
    quiet_from VARCHAR,
    quiet_to VARCHAR,
    time_zone VARCHAR,
    alert_type_id VARCHAR NOT NULL,
    channels JSONB NOT NULL,
    enabled BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    active BOOLEAN NOT NULL,
    told BOOLEAN NOT NULL,
    episodes JSONB NOT NULL,
    judged_from BIGINT NOT NULL,
    judged_to BIGINT NOT NULL,
    late_from BIGINT,
    failures INTEGER NOT NULL,
    problem VARCHAR,
    due_at TIMESTAMPTZ NOT NULL,
    fired_at TIMESTAMPTZ,
    CONSTRAINT pk_alert_rule PRIMARY KEY (rule_id),
    CONSTRAINT fk_alert_rule_alert_type_id FOREIGN KEY(alert_type_id) REFERENCES alert_type (alert_type_id),
    CONSTRAINT fk_alert_rule_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_alert_rule_resource_id FOREIGN KEY(resource_id) REFERENCES resource (resource_id),
    CONSTRAINT fk_alert_rule_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_alert_rule_ve_id FOREIGN KEY(ve_id) REFERENCES virtual_entity (ve_id)
);
CREATE INDEX ix_alert_rule_application_id ON alert_rule (application_id);
CREATE INDEX ix_alert_rule_enabled_due_at ON alert_rule (enabled, due_at);
CREATE INDEX ix_alert_rule_resource_id ON alert_rule (resource_id);
CREATE INDEX ix_alert_rule_user_id ON alert_rule (user_id);

CREATE TABLE notification (
    application_id VARCHAR NOT NULL,
    notification_id VARCHAR NOT NULL,
    alert_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    status_at TIMESTAMPTZ NOT NULL,
    state VARCHAR(16) NOT NULL,
    template_id VARCHAR,
    template_version INTEGER,
    subject VARCHAR,
    html VARCHAR,
    text VARCHAR,
    CONSTRAINT pk_notification PRIMARY KEY (notification_id),
    CONSTRAINT fk_notification_alert_id FOREIGN KEY(alert_id) REFERENCES alert (alert_id),
    CONSTRAINT fk_notification_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_notification_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_notification_alert_id ON notification (alert_id);
CREATE INDEX ix_notification_application_id ON notification (application_id);
CREATE INDEX ix_notification_user_id ON notification (user_id);

CREATE TABLE template_version (
    application_id VARCHAR NOT NULL,
    version_id VARCHAR NOT NULL,
    template_id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    subject VARCHAR NOT NULL,
    preheader VARCHAR NOT NULL,
    html_template VARCHAR NOT NULL,
    text VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    created_by VARCHAR,
    published_at TIMESTAMPTZ,
    published_by VARCHAR,
    CONSTRAINT pk_template_version PRIMARY KEY (version_id),
    CONSTRAINT uq_template_version_template_id_version UNIQUE (template_id, version),
    CONSTRAINT fk_template_version_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_template_version_template_id FOREIGN KEY(template_id) REFERENCES template (template_id)
);
CREATE INDEX ix_template_version_application_id ON template_version (application_id);

CREATE TABLE notification_log (
    application_id VARCHAR NOT NULL,
    log_id VARCHAR NOT NULL,
    notification_id VARCHAR NOT NULL,
    alert_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    status_at TIMESTAMPTZ NOT NULL,
    detail VARCHAR,
    CONSTRAINT pk_notification_log PRIMARY KEY (log_id),
    CONSTRAINT fk_notification_log_alert_id FOREIGN KEY(alert_id) REFERENCES alert (alert_id),
    CONSTRAINT fk_notification_log_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_notification_log_notification_id FOREIGN KEY(notification_id) REFERENCES notification (notification_id),
    CONSTRAINT fk_notification_log_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_notification_log_application_id ON notification_log (application_id);
CREATE INDEX ix_notification_log_notification_id ON notification_log (notification_id);

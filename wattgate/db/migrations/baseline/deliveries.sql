-- The outbox of deliveries, kept mails, suppressed addresses, and webhooks.

CREATE TABLE kept_mail (
    application_id VARCHAR NOT NULL,
    delivery_id VARCHAR NOT NULL,
    recipient VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    content BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    user_id VARCHAR,
    CONSTRAINT pk_kept_mail PRIMARY KEY (delivery_id),
    CONSTRAINT fk_kept_mail_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_kept_mail_application_id ON kept_mail (application_id);
CREATE INDEX ix_kept_mail_application_id_created_at ON kept_mail (application_id, created_at);
CREATE INDEX ix_kept_mail_user_id ON kept_mail (user_id);

CREATE TABLE mail_suppression (
    application_id VARCHAR NOT NULL,
    suppression_id VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    cause VARCHAR(16) NOT NULL,
    reason VARCHAR,
    delivery_id VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_mail_suppression PRIMARY KEY (suppression_id),
    CONSTRAINT uq_mail_suppression_application_id_address UNIQUE (application_id, address),
    CONSTRAINT fk_mail_suppression_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_mail_suppression_application_id ON mail_suppression (application_id);

CREATE TABLE test_mail (
    application_id VARCHAR NOT NULL,
    test_mail_id VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    html VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    created_by VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_test_mail PRIMARY KEY (test_mail_id),
    CONSTRAINT fk_test_mail_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_test_mail_application_id ON test_mail (application_id);
CREATE INDEX ix_test_mail_application_id_created_at ON test_mail (application_id, created_at);

CREATE TABLE webhook_endpoint (
    application_id VARCHAR NOT NULL,
    endpoint_id VARCHAR NOT NULL,
    url VARCHAR NOT NULL,
    events JSONB NOT NULL,
    description VARCHAR NOT NULL,
    enabled BOOLEAN NOT NULL,
    disabled_reason VARCHAR,
    ordered BOOLEAN NOT NULL,
    secret VARCHAR NOT NULL,
    old_secrets VARCHAR,
    secret_expires_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    failures INTEGER NOT NULL,
    failing_since TIMESTAMPTZ,
    paused_until TIMESTAMPTZ,
    CONSTRAINT pk_webhook_endpoint PRIMARY KEY (endpoint_id),
    CONSTRAINT fk_webhook_endpoint_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_webhook_endpoint_application_id ON webhook_endpoint (application_id);

CREATE TABLE delivery (
    application_id VARCHAR NOT NULL,
    number BIGSERIAL NOT NULL,
    delivery_id VARCHAR NOT NULL,
    kind VARCHAR(16) NOT NULL,
    target_id VARCHAR NOT NULL,
    address VARCHAR,
    user_id VARCHAR,
    order_key VARCHAR,
    state VARCHAR(16) NOT NULL,
    attempts INTEGER NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    leased_until TIMESTAMPTZ,
    worker VARCHAR,
    reason VARCHAR,
    reference VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    CONSTRAINT pk_delivery PRIMARY KEY (number),
    CONSTRAINT uq_delivery_delivery_id UNIQUE (delivery_id),
    CONSTRAINT fk_delivery_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_delivery_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_delivery_application_id ON delivery (application_id);
CREATE INDEX ix_delivery_application_id_address_created_at ON delivery (application_id, address, created_at);
CREATE INDEX ix_delivery_due ON delivery (application_id, due_at, number) WHERE state IN ('WAITING', 'LEASED');
CREATE INDEX ix_delivery_ended_at ON delivery (ended_at);
CREATE INDEX ix_delivery_leased ON delivery (application_id, order_key) WHERE state = 'LEASED';
CREATE INDEX ix_delivery_open ON delivery (application_id, order_key, number) WHERE state IN ('WAITING', 'LEASED');
CREATE INDEX ix_delivery_target_id ON delivery (target_id);
CREATE INDEX ix_delivery_user_id_created_at ON delivery (user_id, created_at);

CREATE TABLE webhook (
    application_id VARCHAR NOT NULL,
    webhook_id VARCHAR NOT NULL,
    user_id VARCHAR,
    callback_url VARCHAR NOT NULL,
    payload JSONB NOT NULL,
    status VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    number_of_attempts INTEGER NOT NULL,
    successful_attempt JSONB NOT NULL,
    failed_attempts JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    endpoint_id VARCHAR,
    event_id VARCHAR,
    event_number BIGINT,
    subject_id VARCHAR,
    CONSTRAINT pk_webhook PRIMARY KEY (webhook_id),
    CONSTRAINT fk_webhook_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_webhook_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_webhook_application_id ON webhook (application_id);
CREATE INDEX ix_webhook_endpoint_id_event_number ON webhook (endpoint_id, event_number);
CREATE INDEX ix_webhook_pending ON webhook (endpoint_id) WHERE status = 'pending';
CREATE INDEX ix_webhook_subject_id ON webhook (subject_id);
CREATE INDEX ix_webhook_updated_at ON webhook (updated_at);
CREATE INDEX ix_webhook_user_id ON webhook (user_id);

CREATE TABLE webhook_event (
    application_id VARCHAR NOT NULL,
    number BIGSERIAL NOT NULL,
    event_id VARCHAR NOT NULL,
    event_code VARCHAR NOT NULL,
    user_id VARCHAR,
    payload JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_webhook_event PRIMARY KEY (number),
    CONSTRAINT uq_webhook_event_event_id UNIQUE (event_id),
    CONSTRAINT fk_webhook_event_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_webhook_event_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_webhook_event_application_id ON webhook_event (application_id);
CREATE INDEX ix_webhook_event_application_id_created_at ON webhook_event (application_id, created_at);
CREATE INDEX ix_webhook_event_user_id ON webhook_event (user_id);

CREATE TABLE webhook_error (
    application_id VARCHAR NOT NULL,
    error_id VARCHAR NOT NULL,
    webhook_id VARCHAR NOT NULL,
    user_id VARCHAR,
    callback_url VARCHAR NOT NULL,
    attempt JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_webhook_error PRIMARY KEY (error_id),
    CONSTRAINT fk_webhook_error_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_webhook_error_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_webhook_error_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhook (webhook_id)
);
CREATE INDEX ix_webhook_error_application_id ON webhook_error (application_id);
CREATE INDEX ix_webhook_error_user_id ON webhook_error (user_id);
CREATE INDEX ix_webhook_error_webhook_id ON webhook_error (webhook_id);

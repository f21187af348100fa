-- The audit log, erasures and exports of personal data. The triggers of the log differ between the databases.

CREATE TABLE audit_entry (
    application_id VARCHAR NOT NULL,
    audit_entry_id VARCHAR NOT NULL,
    sequence INTEGER NOT NULL,
    operation VARCHAR NOT NULL,
    actor JSONB NOT NULL,
    target JSONB NOT NULL,
    changes JSONB NOT NULL,
    trace_id VARCHAR,
    client_address VARCHAR,
    previous_digest VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_audit_entry PRIMARY KEY (audit_entry_id),
    CONSTRAINT uq_audit_entry_application_id_sequence UNIQUE (application_id, sequence),
    CONSTRAINT fk_audit_entry_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_audit_entry_application_id ON audit_entry (application_id);

CREATE TABLE audit_head (
    application_id VARCHAR NOT NULL,
    sequence INTEGER NOT NULL,
    digest VARCHAR NOT NULL,
    CONSTRAINT pk_audit_head PRIMARY KEY (application_id),
    CONSTRAINT fk_audit_head_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);

CREATE TABLE data_export (
    application_id VARCHAR NOT NULL,
    export_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    state VARCHAR(16) NOT NULL,
    attempt INTEGER NOT NULL,
    files INTEGER NOT NULL,
    files_done INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    size BIGINT NOT NULL,
    reason VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    due_at TIMESTAMPTZ,
    CONSTRAINT pk_data_export PRIMARY KEY (export_id),
    CONSTRAINT uq_data_export_user_id UNIQUE (user_id),
    CONSTRAINT fk_data_export_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_data_export_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_data_export_application_id ON data_export (application_id);
CREATE INDEX ix_data_export_due_at ON data_export (due_at);

CREATE TABLE erasure (
    application_id VARCHAR NOT NULL,
    erasure_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    state VARCHAR(16) NOT NULL,
    stage VARCHAR(16) NOT NULL,
    step INTEGER NOT NULL,
    cursor BIGINT NOT NULL,
    retention_days INTEGER,
    counts JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ,
    due_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    kept_until TIMESTAMPTZ,
    billing_erased_at TIMESTAMPTZ,
    listed_at TIMESTAMPTZ,
    CONSTRAINT pk_erasure PRIMARY KEY (erasure_id),
    CONSTRAINT uq_erasure_user_id UNIQUE (user_id),
    CONSTRAINT fk_erasure_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_erasure_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_erasure_application_id ON erasure (application_id);
CREATE INDEX ix_erasure_due_at ON erasure (due_at);

CREATE TABLE data_export_part (
    application_id VARCHAR NOT NULL,
    part_id VARCHAR NOT NULL,
    export_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    content BYTEA NOT NULL,
    CONSTRAINT pk_data_export_part PRIMARY KEY (part_id),
    CONSTRAINT uq_data_export_part_export_id_number UNIQUE (export_id, number),
    CONSTRAINT fk_data_export_part_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_data_export_part_export_id FOREIGN KEY(export_id) REFERENCES data_export (export_id),
    CONSTRAINT fk_data_export_part_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_data_export_part_application_id ON data_export_part (application_id);
CREATE INDEX ix_data_export_part_user_id ON data_export_part (user_id);

-- Applications, their users, and what the whole gateway shares.

CREATE TABLE application (
    application_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    directory_id VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    culture_code VARCHAR DEFAULT 'en-GB' NOT NULL,
    trusted_only BOOLEAN DEFAULT FALSE NOT NULL,
    CONSTRAINT pk_application PRIMARY KEY (application_id)
);

CREATE TABLE secret_key (
    key_id VARCHAR NOT NULL,
    sample VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_secret_key PRIMARY KEY (key_id)
);

CREATE TABLE app_user (
    application_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    culture_code VARCHAR,
    erased_at TIMESTAMPTZ,
    CONSTRAINT pk_app_user PRIMARY KEY (user_id),
    CONSTRAINT fk_app_user_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_app_user_application_id ON app_user (application_id);

CREATE TABLE application_credential (
    username VARCHAR NOT NULL,
    application_id VARCHAR NOT NULL,
    secret_digest BYTEA NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_application_credential PRIMARY KEY (username),
    CONSTRAINT fk_application_credential_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_application_credential_application_id ON application_credential (application_id);

CREATE TABLE trusted_document (
    application_id VARCHAR NOT NULL,
    trusted_document_id VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_trusted_document PRIMARY KEY (trusted_document_id),
    CONSTRAINT uq_trusted_document_application_id_document_id UNIQUE (application_id, document_id),
    CONSTRAINT fk_trusted_document_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_trusted_document_application_id ON trusted_document (application_id);

-- OAuth clients and grants, and the directories of other identity providers.

CREATE TABLE directory (
    application_id VARCHAR NOT NULL,
    directory_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    issuer VARCHAR NOT NULL,
    audiences JSONB NOT NULL,
    algorithms JSONB NOT NULL,
    account_rule VARCHAR(16) NOT NULL,
    token_check VARCHAR(16) NOT NULL,
    clock_skew_seconds INTEGER NOT NULL,
    session_seconds INTEGER NOT NULL,
    client_id VARCHAR NOT NULL,
    client_secret VARCHAR,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_directory PRIMARY KEY (directory_id),
    CONSTRAINT fk_directory_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_directory_application_id ON directory (application_id);

CREATE TABLE oauth_client (
    application_id VARCHAR NOT NULL,
    client_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    secret_digest BYTEA,
    redirect_uris JSONB NOT NULL,
    scope VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_oauth_client PRIMARY KEY (client_id),
    CONSTRAINT fk_oauth_client_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_oauth_client_application_id ON oauth_client (application_id);

CREATE TABLE authorization_code (
    application_id VARCHAR NOT NULL,
    code_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    client_id VARCHAR NOT NULL,
    family VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    redirect_uri VARCHAR NOT NULL,
    code_challenge VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    used_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_authorization_code PRIMARY KEY (code_id),
    CONSTRAINT uq_authorization_code_digest UNIQUE (digest),
    CONSTRAINT fk_authorization_code_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_authorization_code_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_authorization_code_client_id FOREIGN KEY(client_id) REFERENCES oauth_client (client_id),
    CONSTRAINT fk_authorization_code_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_authorization_code_account_id ON authorization_code (account_id);
CREATE INDEX ix_authorization_code_application_id ON authorization_code (application_id);
CREATE INDEX ix_authorization_code_client_id ON authorization_code (client_id);
CREATE INDEX ix_authorization_code_user_id ON authorization_code (user_id);

CREATE TABLE external_account (
    application_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    directory_id VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    token VARCHAR,
    access_token VARCHAR,
    token_issued_at TIMESTAMPTZ,
    token_expires_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    used_tokens JSONB,
    CONSTRAINT pk_external_account PRIMARY KEY (account_id),
    CONSTRAINT uq_external_account_directory_id_subject UNIQUE (directory_id, subject),
    CONSTRAINT fk_external_account_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_external_account_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_external_account_directory_id FOREIGN KEY(directory_id) REFERENCES directory (directory_id),
    CONSTRAINT fk_external_account_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_external_account_application_id ON external_account (application_id);
CREATE INDEX ix_external_account_directory_id ON external_account (directory_id);
CREATE INDEX ix_external_account_user_id ON external_account (user_id);

CREATE TABLE refresh_token (
    application_id VARCHAR NOT NULL,
    refresh_token_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    client_id VARCHAR NOT NULL,
    family VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    scope VARCHAR NOT NULL,
    used_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    granted_at TIMESTAMPTZ,
    CONSTRAINT pk_refresh_token PRIMARY KEY (refresh_token_id),
    CONSTRAINT uq_refresh_token_digest UNIQUE (digest),
    CONSTRAINT fk_refresh_token_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_refresh_token_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_refresh_token_client_id FOREIGN KEY(client_id) REFERENCES oauth_client (client_id),
    CONSTRAINT fk_refresh_token_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_refresh_token_account_id ON refresh_token (account_id);
CREATE INDEX ix_refresh_token_application_id ON refresh_token (application_id);
CREATE INDEX ix_refresh_token_client_id ON refresh_token (client_id);
CREATE INDEX ix_refresh_token_family ON refresh_token (family);
CREATE INDEX ix_refresh_token_user_id ON refresh_token (user_id);

-- Accounts, their tokens, second factors, profiles and mails.

CREATE TABLE login_backoff (
    application_id VARCHAR NOT NULL,
    backoff_id VARCHAR NOT NULL,
    failures INTEGER NOT NULL,
    failed_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_login_backoff PRIMARY KEY (backoff_id),
    CONSTRAINT fk_login_backoff_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_login_backoff_application_id ON login_backoff (application_id);
CREATE INDEX ix_login_backoff_failed_at ON login_backoff (failed_at);

CREATE TABLE account (
    application_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    directory_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    username VARCHAR NOT NULL,
    email VARCHAR NOT NULL,
    password_hash VARCHAR,
    administrator BOOLEAN NOT NULL,
    status VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    failures INTEGER DEFAULT '0' NOT NULL,
    failed_at TIMESTAMPTZ,
    mails_username BOOLEAN DEFAULT TRUE NOT NULL,
    template_editor BOOLEAN DEFAULT FALSE NOT NULL,
    second_factor BOOLEAN DEFAULT FALSE NOT NULL,
    CONSTRAINT pk_account PRIMARY KEY (account_id),
    CONSTRAINT uq_account_application_id_directory_id_username UNIQUE (application_id, directory_id, username),
    CONSTRAINT fk_account_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_account_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_account_application_id ON account (application_id);
CREATE INDEX ix_account_status_created_at ON account (status, created_at);
CREATE INDEX ix_account_user_id ON account (user_id);

CREATE TABLE account_mail (
    application_id VARCHAR NOT NULL,
    account_mail_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    secret VARCHAR,
    expires_at TIMESTAMPTZ,
    tenancy_id VARCHAR REFERENCES meter_point_tenancy (tenancy_id),
    CONSTRAINT pk_account_mail PRIMARY KEY (account_mail_id),
    CONSTRAINT fk_account_mail_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_account_mail_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_account_mail_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_account_mail_account_id ON account_mail (account_id);
CREATE INDEX ix_account_mail_application_id ON account_mail (application_id);
CREATE INDEX ix_account_mail_user_id ON account_mail (user_id);

CREATE TABLE account_profile (
    application_id VARCHAR NOT NULL,
    profile_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    profile_name VARCHAR NOT NULL,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_account_profile PRIMARY KEY (profile_id),
    CONSTRAINT uq_account_profile_account_id_profile_name UNIQUE (account_id, profile_name),
    CONSTRAINT fk_account_profile_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_account_profile_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_account_profile_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_account_profile_account_id ON account_profile (account_id);
CREATE INDEX ix_account_profile_application_id ON account_profile (application_id);
CREATE INDEX ix_account_profile_user_id ON account_profile (user_id);

CREATE TABLE account_session (
    application_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    data JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_account_session PRIMARY KEY (account_id),
    CONSTRAINT fk_account_session_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_account_session_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_account_session_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_account_session_application_id ON account_session (application_id);
CREATE INDEX ix_account_session_user_id ON account_session (user_id);

CREATE TABLE email_change (
    application_id VARCHAR NOT NULL,
    change_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    email VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    active BOOLEAN NOT NULL,
    CONSTRAINT pk_email_change PRIMARY KEY (change_id),
    CONSTRAINT uq_email_change_digest UNIQUE (digest),
    CONSTRAINT fk_email_change_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_email_change_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_email_change_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_email_change_account_id ON email_change (account_id);
CREATE INDEX ix_email_change_application_id ON email_change (application_id);
CREATE INDEX ix_email_change_user_id ON email_change (user_id);

CREATE TABLE login_source (
    application_id VARCHAR NOT NULL,
    source_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    failures INTEGER NOT NULL,
    failed_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    used_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_login_source PRIMARY KEY (source_id),
    CONSTRAINT uq_login_source_account_id_digest UNIQUE (account_id, digest),
    CONSTRAINT fk_login_source_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_login_source_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_login_source_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_login_source_account_id ON login_source (account_id);
CREATE INDEX ix_login_source_application_id ON login_source (application_id);
CREATE INDEX ix_login_source_user_id ON login_source (user_id);

CREATE TABLE mobile_app_token (
    application_id VARCHAR NOT NULL,
    mobile_app_token_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    token VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    added_by_token_id VARCHAR,
    digest BYTEA,
    CONSTRAINT pk_mobile_app_token PRIMARY KEY (mobile_app_token_id),
    CONSTRAINT uq_mobile_app_token_account_id_token UNIQUE (account_id, token),
    CONSTRAINT fk_mobile_app_token_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_mobile_app_token_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_mobile_app_token_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_mobile_app_token_account_id ON mobile_app_token (account_id);
CREATE INDEX ix_mobile_app_token_added_by_token_id ON mobile_app_token (added_by_token_id);
CREATE INDEX ix_mobile_app_token_application_id ON mobile_app_token (application_id);
CREATE INDEX ix_mobile_app_token_user_id ON mobile_app_token (user_id);
CREATE UNIQUE INDEX ix_mobile_app_token_application_id_digest ON mobile_app_token (application_id, digest);

CREATE TABLE one_time_code (
    application_id VARCHAR NOT NULL,
    code_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    purpose VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    failures INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_one_time_code PRIMARY KEY (code_id),
    CONSTRAINT fk_one_time_code_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_one_time_code_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_one_time_code_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_one_time_code_account_id ON one_time_code (account_id);
CREATE INDEX ix_one_time_code_application_id ON one_time_code (application_id);
CREATE INDEX ix_one_time_code_user_id ON one_time_code (user_id);

CREATE TABLE recovery_code (
    application_id VARCHAR NOT NULL,
    recovery_code_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_recovery_code PRIMARY KEY (recovery_code_id),
    CONSTRAINT fk_recovery_code_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_recovery_code_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_recovery_code_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_recovery_code_account_id ON recovery_code (account_id);
CREATE INDEX ix_recovery_code_application_id ON recovery_code (application_id);
CREATE INDEX ix_recovery_code_user_id ON recovery_code (user_id);

CREATE TABLE second_factor (
    application_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    secret VARCHAR NOT NULL,
    last_step INTEGER NOT NULL,
    confirmed_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_second_factor PRIMARY KEY (account_id),
    CONSTRAINT fk_second_factor_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_second_factor_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_second_factor_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_second_factor_application_id ON second_factor (application_id);
CREATE INDEX ix_second_factor_user_id ON second_factor (user_id);

CREATE TABLE token (
    application_id VARCHAR NOT NULL,
    token_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    scope VARCHAR,
    family VARCHAR,
    authentication_framework VARCHAR,
    grant_type VARCHAR,
    ve_id VARCHAR REFERENCES virtual_entity (ve_id),
    authenticated_at TIMESTAMPTZ,
    CONSTRAINT pk_token PRIMARY KEY (token_id),
    CONSTRAINT uq_token_digest UNIQUE (digest),
    CONSTRAINT fk_token_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_token_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_token_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_token_account_id ON token (account_id);
CREATE INDEX ix_token_application_id ON token (application_id);
CREATE INDEX ix_token_family ON token (family);
CREATE INDEX ix_token_user_id ON token (user_id);
CREATE INDEX ix_token_ve_id ON token (ve_id);

-- Devices, their claims and catch-ups, intakes, and paired displays.

CREATE TABLE device_claim (
    application_id VARCHAR NOT NULL,
    claim_id VARCHAR NOT NULL,
    hardware_id VARCHAR NOT NULL,
    hardware_key VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    failures INTEGER NOT NULL,
    expires_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_device_claim PRIMARY KEY (claim_id),
    CONSTRAINT uq_device_claim_application_id_hardware_key UNIQUE (application_id, hardware_key),
    CONSTRAINT fk_device_claim_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_device_claim_application_id ON device_claim (application_id);

CREATE TABLE device_type (
    application_id VARCHAR NOT NULL,
    device_type_id VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    protocol JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_device_type PRIMARY KEY (device_type_id),
    CONSTRAINT fk_device_type_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_device_type_application_id ON device_type (application_id);

CREATE TABLE intake (
    application_id VARCHAR NOT NULL,
    intake_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    connected BOOLEAN NOT NULL,
    heard_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_intake PRIMARY KEY (intake_id),
    CONSTRAINT uq_intake_application_id_name UNIQUE (application_id, name),
    CONSTRAINT fk_intake_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_intake_application_id ON intake (application_id);

CREATE TABLE device (
    application_id VARCHAR NOT NULL,
    device_id VARCHAR NOT NULL,
    owner_id VARCHAR NOT NULL,
    device_type_id VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    hardware_id VARCHAR NOT NULL,
    hardware_key VARCHAR NOT NULL,
    hardware_ids JSONB NOT NULL,
    parent_hardware_id JSONB NOT NULL,
    tags JSONB NOT NULL,
    protocol_name VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    network_state JSONB,
    heard_at TIMESTAMPTZ,
    mac VARCHAR,
    eui VARCHAR,
    serial_number VARCHAR,
    proof VARCHAR(16),
    held_from TIMESTAMPTZ,
    remains_at VARCHAR,
    CONSTRAINT pk_device PRIMARY KEY (device_id),
    CONSTRAINT uq_device_application_id_hardware_key UNIQUE (application_id, hardware_key),
    CONSTRAINT fk_device_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_device_device_type_id FOREIGN KEY(device_type_id) REFERENCES device_type (device_type_id),
    CONSTRAINT fk_device_owner_id FOREIGN KEY(owner_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_device_application_id ON device (application_id);
CREATE INDEX ix_device_device_type_id ON device (device_type_id);
CREATE INDEX ix_device_eui ON device (eui);
CREATE INDEX ix_device_mac ON device (mac);
CREATE INDEX ix_device_owner_id ON device (owner_id);
CREATE INDEX ix_device_serial_number ON device (serial_number);

CREATE TABLE catch_up (
    application_id VARCHAR NOT NULL,
    catch_up_id VARCHAR NOT NULL,
    owner_id VARCHAR NOT NULL,
    resource_id VARCHAR NOT NULL,
    state VARCHAR(16) NOT NULL,
    recorded INTEGER NOT NULL,
    reason VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ,
    heard_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    CONSTRAINT pk_catch_up PRIMARY KEY (catch_up_id),
    CONSTRAINT fk_catch_up_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_catch_up_owner_id FOREIGN KEY(owner_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_catch_up_resource_id FOREIGN KEY(resource_id) REFERENCES resource (resource_id)
);
CREATE INDEX ix_catch_up_application_id ON catch_up (application_id);
CREATE INDEX ix_catch_up_owner_id ON catch_up (owner_id);
CREATE INDEX ix_catch_up_resource_id ON catch_up (resource_id);
CREATE INDEX ix_catch_up_state ON catch_up (state);

CREATE TABLE device_sensor (
    application_id VARCHAR NOT NULL,
    device_id VARCHAR NOT NULL,
    protocol_id VARCHAR NOT NULL,
    resource_type_id VARCHAR NOT NULL,
    resource_id VARCHAR,
    CONSTRAINT pk_device_sensor PRIMARY KEY (device_id, protocol_id),
    CONSTRAINT fk_device_sensor_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_device_sensor_device_id FOREIGN KEY(device_id) REFERENCES device (device_id),
    CONSTRAINT fk_device_sensor_resource_id FOREIGN KEY(resource_id) REFERENCES resource (resource_id),
    CONSTRAINT fk_device_sensor_resource_type_id FOREIGN KEY(resource_type_id) REFERENCES resource_type (resource_type_id)
);
CREATE INDEX ix_device_sensor_application_id ON device_sensor (application_id);
CREATE INDEX ix_device_sensor_resource_id ON device_sensor (resource_id);

CREATE TABLE home_member (
    application_id VARCHAR NOT NULL,
    member_id VARCHAR NOT NULL,
    ve_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    member_user_id VARCHAR,
    name VARCHAR NOT NULL,
    email VARCHAR,
    digest BYTEA,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    joined_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    end_reason VARCHAR(16),
    CONSTRAINT pk_home_member PRIMARY KEY (member_id),
    CONSTRAINT uq_home_member_digest UNIQUE (digest),
    CONSTRAINT fk_home_member_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_home_member_member_user_id FOREIGN KEY(member_user_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_home_member_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_home_member_ve_id FOREIGN KEY(ve_id) REFERENCES virtual_entity (ve_id)
);
CREATE INDEX ix_home_member_application_id ON home_member (application_id);
CREATE INDEX ix_home_member_member_user_id ON home_member (member_user_id);
CREATE INDEX ix_home_member_user_id ON home_member (user_id);
CREATE UNIQUE INDEX ix_home_member_ve_id_member_user_id ON home_member (ve_id, member_user_id) WHERE ended_at IS NULL;

CREATE TABLE display_pairing (
    application_id VARCHAR NOT NULL,
    pairing_id VARCHAR NOT NULL,
    device_digest BYTEA NOT NULL,
    user_digest BYTEA NOT NULL,
    state VARCHAR(16) NOT NULL,
    name VARCHAR NOT NULL,
    user_id VARCHAR,
    account_id VARCHAR,
    ve_id VARCHAR,
    token_id VARCHAR,
    interval INTEGER NOT NULL,
    polled_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_display_pairing PRIMARY KEY (pairing_id),
    CONSTRAINT uq_display_pairing_device_digest UNIQUE (device_digest),
    CONSTRAINT uq_display_pairing_user_digest UNIQUE (user_digest),
    CONSTRAINT fk_display_pairing_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_display_pairing_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_display_pairing_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_display_pairing_ve_id FOREIGN KEY(ve_id) REFERENCES virtual_entity (ve_id)
);
CREATE INDEX ix_display_pairing_account_id ON display_pairing (account_id);
CREATE INDEX ix_display_pairing_application_id ON display_pairing (application_id);
CREATE INDEX ix_display_pairing_application_id_expires_at ON display_pairing (application_id, expires_at);
CREATE INDEX ix_display_pairing_user_id ON display_pairing (user_id);
CREATE INDEX ix_display_pairing_ve_id ON display_pairing (ve_id);

CREATE TABLE paired_display (
    application_id VARCHAR NOT NULL,
    display_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    account_id VARCHAR NOT NULL,
    ve_id VARCHAR NOT NULL,
    token_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    last_seen_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_paired_display PRIMARY KEY (display_id),
    CONSTRAINT uq_paired_display_token_id UNIQUE (token_id),
    CONSTRAINT fk_paired_display_account_id FOREIGN KEY(account_id) REFERENCES account (account_id),
    CONSTRAINT fk_paired_display_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_paired_display_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_paired_display_ve_id FOREIGN KEY(ve_id) REFERENCES virtual_entity (ve_id)
);
CREATE INDEX ix_paired_display_account_id ON paired_display (account_id);
CREATE INDEX ix_paired_display_application_id ON paired_display (application_id);
CREATE INDEX ix_paired_display_user_id ON paired_display (user_id);
CREATE INDEX ix_paired_display_ve_id ON paired_display (ve_id);

-- Consents, tenancies, the access log, the registry of the meter network, and flexibility events.

CREATE TABLE network_device (
    eui VARCHAR NOT NULL,
    mpxn VARCHAR NOT NULL,
    device_type VARCHAR NOT NULL,
    manufacturer VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    firmware_version VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    commissioned_at TIMESTAMPTZ,
    CONSTRAINT pk_network_device PRIMARY KEY (eui)
);
CREATE INDEX ix_network_device_mpxn ON network_device (mpxn);

CREATE TABLE network_meter_point (
    mpxn VARCHAR NOT NULL,
    postcode VARCHAR NOT NULL,
    smets_version VARCHAR NOT NULL,
    eligible BOOLEAN NOT NULL,
    CONSTRAINT pk_network_meter_point PRIMARY KEY (mpxn)
);

CREATE TABLE network_reading (
    mpxn VARCHAR NOT NULL,
    classifier VARCHAR NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    value BIGINT NOT NULL,
    quality VARCHAR(16) DEFAULT 'ACTUAL' NOT NULL,
    CONSTRAINT pk_network_reading PRIMARY KEY (mpxn, classifier, at)
);

CREATE TABLE network_register (
    mpxn VARCHAR NOT NULL,
    classifier VARCHAR NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    value BIGINT NOT NULL,
    unit VARCHAR NOT NULL,
    CONSTRAINT pk_network_register PRIMARY KEY (mpxn, classifier)
);

CREATE TABLE dfs_event (
    application_id VARCHAR NOT NULL,
    dfs_event_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    starts_at TIMESTAMPTZ NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL,
    reward BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_dfs_event PRIMARY KEY (dfs_event_id),
    CONSTRAINT fk_dfs_event_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_dfs_event_application_id ON dfs_event (application_id);

CREATE TABLE access_record (
    application_id VARCHAR NOT NULL,
    access_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    resource_id VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    purpose VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    reader VARCHAR NOT NULL,
    reader_user_id VARCHAR,
    own BOOLEAN NOT NULL,
    count INTEGER NOT NULL,
    hour TIMESTAMPTZ NOT NULL,
    last_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_access_record PRIMARY KEY (access_id),
    CONSTRAINT fk_access_record_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_access_record_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_access_record_application_id ON access_record (application_id);
CREATE INDEX ix_access_record_hour ON access_record (hour);
CREATE INDEX ix_access_record_user_id ON access_record (user_id);

CREATE TABLE consent_change (
    application_id VARCHAR NOT NULL,
    change_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    mpxn VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    valid_until TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    basis VARCHAR DEFAULT 'unrecorded' NOT NULL,
    purpose VARCHAR DEFAULT '' NOT NULL,
    recorded_by VARCHAR DEFAULT '' NOT NULL,
    CONSTRAINT pk_consent_change PRIMARY KEY (change_id),
    CONSTRAINT fk_consent_change_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_consent_change_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_consent_change_application_id ON consent_change (application_id);
CREATE INDEX ix_consent_change_user_id ON consent_change (user_id);

CREATE TABLE dfs_participation (
    application_id VARCHAR NOT NULL,
    participation_id VARCHAR NOT NULL,
    dfs_event_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    mpxn VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_dfs_participation PRIMARY KEY (participation_id),
    CONSTRAINT uq_dfs_participation_dfs_event_id_user_id_mpxn UNIQUE (dfs_event_id, user_id, mpxn),
    CONSTRAINT fk_dfs_participation_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_dfs_participation_dfs_event_id FOREIGN KEY(dfs_event_id) REFERENCES dfs_event (dfs_event_id),
    CONSTRAINT fk_dfs_participation_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_dfs_participation_application_id ON dfs_participation (application_id);
CREATE INDEX ix_dfs_participation_dfs_event_id ON dfs_participation (dfs_event_id);
CREATE INDEX ix_dfs_participation_user_id ON dfs_participation (user_id);

CREATE TABLE dfs_user (
    application_id VARCHAR NOT NULL,
    dfs_user_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    mpxn VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_dfs_user PRIMARY KEY (dfs_user_id),
    CONSTRAINT fk_dfs_user_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_dfs_user_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_dfs_user_application_id ON dfs_user (application_id);
CREATE INDEX ix_dfs_user_user_id ON dfs_user (user_id);

CREATE TABLE meter_point_consent (
    application_id VARCHAR NOT NULL,
    consent_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    mpxn VARCHAR NOT NULL,
    verified BOOLEAN NOT NULL,
    valid_until TIMESTAMPTZ NOT NULL,
    revoked_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    gaps JSONB,
    CONSTRAINT pk_meter_point_consent PRIMARY KEY (consent_id),
    CONSTRAINT uq_meter_point_consent_application_id_user_id_mpxn UNIQUE (application_id, user_id, mpxn),
    CONSTRAINT fk_meter_point_consent_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_meter_point_consent_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_meter_point_consent_application_id ON meter_point_consent (application_id);
CREATE INDEX ix_meter_point_consent_mpxn ON meter_point_consent (mpxn);
CREATE INDEX ix_meter_point_consent_user_id ON meter_point_consent (user_id);

CREATE TABLE meter_point_tenancy (
    application_id VARCHAR NOT NULL,
    tenancy_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    mpxn VARCHAR NOT NULL,
    began_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    proof VARCHAR(16) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    listed_change TIMESTAMPTZ,
    CONSTRAINT pk_meter_point_tenancy PRIMARY KEY (tenancy_id),
    CONSTRAINT fk_meter_point_tenancy_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_meter_point_tenancy_user_id FOREIGN KEY(user_id) REFERENCES app_user (user_id)
);
CREATE INDEX ix_meter_point_tenancy_application_id ON meter_point_tenancy (application_id);
CREATE INDEX ix_meter_point_tenancy_mpxn ON meter_point_tenancy (mpxn);
CREATE INDEX ix_meter_point_tenancy_user_id ON meter_point_tenancy (user_id);
CREATE UNIQUE INDEX ix_meter_point_tenancy_application_id_mpxn ON meter_point_tenancy (application_id, mpxn)
    WHERE ended_at IS NULL;
CREATE INDEX ix_meter_point_tenancy_unlisted ON meter_point_tenancy (application_id)
    WHERE listed_change IS NULL OR listed_change <> updated_at;

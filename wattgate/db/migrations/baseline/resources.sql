-- Resources, homes, and tariffs. The tables of readings and prices differ between the databases.

CREATE TABLE resource_type (
    application_id VARCHAR NOT NULL,
    resource_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    classifier VARCHAR NOT NULL,
    storage JSONB NOT NULL,
    description VARCHAR NOT NULL,
    data_source_type VARCHAR NOT NULL,
    data_source_resource_type_info JSONB NOT NULL,
    label VARCHAR NOT NULL,
    base_unit VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    retention_days INTEGER,
    CONSTRAINT pk_resource_type PRIMARY KEY (resource_type_id),
    CONSTRAINT fk_resource_type_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_resource_type_application_id ON resource_type (application_id);

CREATE TABLE virtual_entity_type (
    application_id VARCHAR NOT NULL,
    ve_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    active BOOLEAN NOT NULL,
    resources JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_virtual_entity_type PRIMARY KEY (ve_type_id),
    CONSTRAINT fk_virtual_entity_type_application_id FOREIGN KEY(application_id) REFERENCES application (application_id)
);
CREATE INDEX ix_virtual_entity_type_application_id ON virtual_entity_type (application_id);

CREATE TABLE resource (
    application_id VARCHAR NOT NULL,
    number BIGSERIAL NOT NULL,
    resource_id VARCHAR NOT NULL,
    owner_id VARCHAR NOT NULL,
    resource_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    classifier VARCHAR NOT NULL,
    base_unit VARCHAR NOT NULL,
    storage JSONB NOT NULL,
    data_source_type VARCHAR NOT NULL,
    data_source_resource_type_info JSONB NOT NULL,
    data_source_unit_info JSONB NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    mpxn VARCHAR,
    cost_of VARCHAR REFERENCES resource (resource_id),
    watched BOOLEAN DEFAULT FALSE NOT NULL,
    successor_id VARCHAR REFERENCES resource (resource_id),
    owned_from TIMESTAMPTZ,
    consent_gaps JSONB,
    withdrawals JSONB,
    CONSTRAINT pk_resource PRIMARY KEY (number),
    CONSTRAINT uq_resource_resource_id UNIQUE (resource_id),
    CONSTRAINT fk_resource_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_resource_owner_id FOREIGN KEY(owner_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_resource_resource_type_id FOREIGN KEY(resource_type_id) REFERENCES resource_type (resource_type_id)
);
CREATE INDEX ix_resource_application_id ON resource (application_id);
CREATE INDEX ix_resource_cost_of ON resource (cost_of);
CREATE INDEX ix_resource_mpxn ON resource (mpxn);
CREATE INDEX ix_resource_owner_id ON resource (owner_id);
CREATE INDEX ix_resource_resource_type_id ON resource (resource_type_id);

CREATE TABLE virtual_entity (
    application_id VARCHAR NOT NULL,
    ve_id VARCHAR NOT NULL,
    owner_id VARCHAR NOT NULL,
    ve_type_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR,
    location VARCHAR,
    city VARCHAR,
    country VARCHAR,
    postal_code VARCHAR,
    geo_coordinates VARCHAR,
    open_street_maps_ref VARCHAR,
    time_zone VARCHAR,
    attributes JSONB NOT NULL,
    clone BOOLEAN NOT NULL,
    active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_virtual_entity PRIMARY KEY (ve_id),
    CONSTRAINT fk_virtual_entity_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_virtual_entity_owner_id FOREIGN KEY(owner_id) REFERENCES app_user (user_id),
    CONSTRAINT fk_virtual_entity_ve_type_id FOREIGN KEY(ve_type_id) REFERENCES virtual_entity_type (ve_type_id)
);
CREATE INDEX ix_virtual_entity_application_id ON virtual_entity (application_id);
CREATE INDEX ix_virtual_entity_owner_id ON virtual_entity (owner_id);
CREATE INDEX ix_virtual_entity_ve_type_id ON virtual_entity (ve_type_id);

CREATE TABLE tariff (
    application_id VARCHAR NOT NULL,
    tariff_id VARCHAR NOT NULL,
    resource_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    rate BIGINT,
    standing_charge BIGINT NOT NULL,
    components JSONB NOT NULL,
    valid_from TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    kind VARCHAR(16) NOT NULL,
    currency VARCHAR NOT NULL,
    bands JSONB NOT NULL,
    blocks JSONB NOT NULL,
    block_period VARCHAR(8),
    price_period VARCHAR(8),
    price_formula JSONB,
    vat_rate BIGINT NOT NULL,
    time_zone VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    superseded_at TIMESTAMPTZ,
    CONSTRAINT pk_tariff PRIMARY KEY (tariff_id),
    CONSTRAINT uq_tariff_resource_id_version UNIQUE (resource_id, version),
    CONSTRAINT fk_tariff_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_tariff_resource_id FOREIGN KEY(resource_id) REFERENCES resource (resource_id)
);
CREATE INDEX ix_tariff_application_id ON tariff (application_id);
CREATE INDEX ix_tariff_resource_id_valid_from ON tariff (resource_id, valid_from);

CREATE TABLE virtual_entity_resource (
    application_id VARCHAR NOT NULL,
    ve_id VARCHAR NOT NULL,
    resource_id VARCHAR NOT NULL,
    CONSTRAINT pk_virtual_entity_resource PRIMARY KEY (ve_id, resource_id),
    CONSTRAINT fk_virtual_entity_resource_application_id FOREIGN KEY(application_id) REFERENCES application (application_id),
    CONSTRAINT fk_virtual_entity_resource_resource_id FOREIGN KEY(resource_id) REFERENCES resource (resource_id),
    CONSTRAINT fk_virtual_entity_resource_ve_id FOREIGN KEY(ve_id) REFERENCES virtual_entity (ve_id)
);
CREATE INDEX ix_virtual_entity_resource_application_id ON virtual_entity_resource (application_id);
CREATE INDEX ix_virtual_entity_resource_resource_id ON virtual_entity_resource (resource_id);

-- What only SQLite has: tables without row IDs, and the triggers of the audit log.

CREATE TABLE reading (
    resource_number BIGINT NOT NULL,
    field SMALLINT NOT NULL,
    at BIGINT NOT NULL,
    value BIGINT NOT NULL,
    quality SMALLINT NOT NULL,
    revision INTEGER NOT NULL,
    received_at BIGINT NOT NULL,
    CONSTRAINT pk_reading PRIMARY KEY (resource_number, field, at)
) WITHOUT ROWID;

CREATE TABLE reading_hour (
    resource_number BIGINT NOT NULL,
    field SMALLINT NOT NULL,
    at BIGINT NOT NULL,
    count INTEGER NOT NULL,
    sum BIGINT NOT NULL,
    min BIGINT NOT NULL,
    max BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    estimated INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    received_at BIGINT NOT NULL,
    CONSTRAINT pk_reading_hour PRIMARY KEY (resource_number, field, at)
) WITHOUT ROWID;

CREATE TABLE reading_day (
    resource_number BIGINT NOT NULL,
    field SMALLINT NOT NULL,
    at BIGINT NOT NULL,
    count INTEGER NOT NULL,
    sum BIGINT NOT NULL,
    min BIGINT NOT NULL,
    max BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    estimated INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    received_at BIGINT NOT NULL,
    CONSTRAINT pk_reading_day PRIMARY KEY (resource_number, field, at)
) WITHOUT ROWID;

CREATE TABLE tariff_price (
    tariff_id VARCHAR NOT NULL,
    at BIGINT NOT NULL,
    rate BIGINT NOT NULL,
    CONSTRAINT pk_tariff_price PRIMARY KEY (tariff_id, at),
    CONSTRAINT fk_tariff_price_tariff_id FOREIGN KEY(tariff_id) REFERENCES tariff (tariff_id) ON DELETE CASCADE
) WITHOUT ROWID;

-- AUTOINCREMENT never uses a number again
CREATE TABLE stored_event (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    origin VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    created_at DATETIME NOT NULL
);

-- An entry is never deleted. An erasure may only remove its network address.
CREATE TRIGGER audit_entry_no_delete BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'Entries of the audit log cannot be changed or deleted'); END;

CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry WHEN
    NEW.application_id IS NOT OLD.application_id
    OR NEW.audit_entry_id IS NOT OLD.audit_entry_id
    OR NEW.sequence IS NOT OLD.sequence
    OR NEW.operation IS NOT OLD.operation
    OR NEW.actor IS NOT OLD.actor
    OR NEW.target IS NOT OLD.target
    OR NEW.changes IS NOT OLD.changes
    OR NEW.trace_id IS NOT OLD.trace_id
    OR NEW.previous_digest IS NOT OLD.previous_digest
    OR NEW.digest IS NOT OLD.digest
    OR NEW.created_at IS NOT OLD.created_at
    OR (NEW.client_address IS NOT NULL AND NEW.client_address <> coalesce(OLD.client_address, ''))
BEGIN SELECT RAISE(ABORT, 'Entries of the audit log cannot be changed or deleted'); END;

-- REPLACE deletes a row without its trigger
CREATE TRIGGER audit_entry_no_replace BEFORE INSERT ON audit_entry WHEN EXISTS (SELECT 1 FROM audit_entry
    WHERE audit_entry_id = NEW.audit_entry_id
    OR (application_id = NEW.application_id AND sequence = NEW.sequence))
BEGIN SELECT RAISE(ABORT, 'Entries of the audit log cannot be changed or deleted'); END;

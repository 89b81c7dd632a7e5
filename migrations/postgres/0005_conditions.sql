-- Conditions of a tenant: one living document, and its versions.

CREATE TABLE conditions (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    document BYTEA NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deleted BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX conditions_of_tenant ON conditions (tenant) WHERE deleted IS NULL;

CREATE TABLE condition_versions (
    tenant TEXT COLLATE "C" NOT NULL,
    conditions_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    document BYTEA NOT NULL,
    changed_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, conditions_id, version)
);

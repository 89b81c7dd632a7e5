-- Conditions of a tenant: one living document, and its versions.

CREATE TABLE conditions (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX conditions_of_tenant ON conditions (tenant) WHERE deleted IS NULL;

CREATE TABLE condition_versions (
    tenant TEXT NOT NULL,
    conditions_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    changed_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, conditions_id, version)
) STRICT;

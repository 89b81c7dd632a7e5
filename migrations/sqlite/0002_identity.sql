-- Who besides the gateway vouches for a tenant's principals.
-- The same tables and columns as in migrations/postgres.

CREATE TABLE issuers (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    name TEXT NOT NULL,
    document BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX issuers_by_name ON issuers (tenant, name) WHERE deleted IS NULL;

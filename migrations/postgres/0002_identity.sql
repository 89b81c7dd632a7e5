-- Who besides the gateway vouches for a tenant's principals.
-- The same tables and columns as in migrations/sqlite.

CREATE TABLE issuers (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    name TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deleted BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX issuers_by_name ON issuers (tenant, name) WHERE deleted IS NULL;

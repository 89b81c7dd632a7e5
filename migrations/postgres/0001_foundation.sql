-- Tenants, what administrators write for them, ownership and the audit.
-- The same tables and columns as in migrations/sqlite. Keys are compared byte by byte (COLLATE "C"), as SQLite does.

CREATE TABLE revision (
    id BIGINT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL,
    pruned BIGINT NOT NULL
);
INSERT INTO revision (id, value, pruned) VALUES (1, 0, 0);

CREATE TABLE changes (
    revision BIGINT NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (revision, tenant, kind, id)
);

CREATE TABLE tenants (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    display_name TEXT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    default_card TEXT COLLATE "C",
    default_policy TEXT COLLATE "C",
    floor_policy TEXT COLLATE "C",
    settings BYTEA NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deleted BIGINT,
    revision BIGINT NOT NULL
);

CREATE TABLE cards (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    name TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL,
    settings BYTEA NOT NULL,
    sealed_credential BYTEA,
    state TEXT COLLATE "C" NOT NULL,
    trust_tier TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deleted BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX cards_by_name ON cards (tenant, name) WHERE deleted IS NULL;

CREATE TABLE card_versions (
    tenant TEXT COLLATE "C" NOT NULL,
    card_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    document BYTEA NOT NULL,
    settings BYTEA NOT NULL,
    changed_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, card_id, version)
);

CREATE TABLE principals (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deleted BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX principals_by_name ON principals (tenant, name) WHERE deleted IS NULL;

CREATE TABLE keys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    principal_id TEXT COLLATE "C" NOT NULL,
    label TEXT NOT NULL,
    hash BYTEA NOT NULL,
    hint TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    revoked BIGINT,
    last_used BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX keys_by_hash ON keys (hash);
CREATE INDEX keys_by_tenant ON keys (tenant, id);
CREATE INDEX keys_by_principal ON keys (tenant, principal_id);

CREATE TABLE grants (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    name TEXT COLLATE "C" NOT NULL,
    principal_id TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    deleted BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX grants_by_name ON grants (tenant, name) WHERE deleted IS NULL;
CREATE INDEX grants_by_principal ON grants (tenant, principal_id);

CREATE TABLE policies (
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
CREATE UNIQUE INDEX policies_by_name ON policies (tenant, name) WHERE deleted IS NULL;

CREATE TABLE policy_versions (
    tenant TEXT COLLATE "C" NOT NULL,
    policy_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    document BYTEA NOT NULL,
    changed_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, policy_id, version)
);

CREATE TABLE signing_keys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (name),
    kid TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    public BYTEA NOT NULL,
    sealed_private BYTEA,
    state TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    activated BIGINT,
    retired BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX signing_keys_by_kid ON signing_keys (tenant, kid);
CREATE INDEX signing_keys_by_tenant ON signing_keys (tenant, id);

CREATE TABLE tasks (
    tenant TEXT COLLATE "C" NOT NULL,
    card_id TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    principal_id TEXT COLLATE "C" NOT NULL,
    context_id TEXT COLLATE "C",
    created BIGINT NOT NULL,
    PRIMARY KEY (tenant, card_id, task_id)
);
CREATE INDEX tasks_by_principal ON tasks (tenant, card_id, principal_id, created, task_id);

CREATE TABLE contexts (
    tenant TEXT COLLATE "C" NOT NULL,
    card_id TEXT COLLATE "C" NOT NULL,
    context_id TEXT COLLATE "C" NOT NULL,
    principal_id TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    PRIMARY KEY (tenant, card_id, context_id)
);

-- prev_hash and hash are filled by the chain.
CREATE TABLE audit_records (
    writer TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    at_open BIGINT NOT NULL,
    at_close BIGINT,
    principal TEXT COLLATE "C",
    key_id TEXT COLLATE "C",
    card TEXT COLLATE "C",
    operation TEXT COLLATE "C",
    dialect TEXT COLLATE "C",
    outcome TEXT COLLATE "C" NOT NULL,
    fault TEXT COLLATE "C",
    status BIGINT,
    correlation_id TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C",
    document BYTEA NOT NULL,
    prev_hash BYTEA,
    hash BYTEA,
    PRIMARY KEY (writer, seq)
);
CREATE INDEX audit_records_by_time ON audit_records (tenant, at_open, writer, seq);
CREATE INDEX audit_records_by_correlation ON audit_records (tenant, correlation_id);

CREATE TABLE audit_summaries (
    writer TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    window_start BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (writer, tenant, reason, source, window_start)
);
CREATE INDEX audit_summaries_by_time ON audit_summaries (tenant, window_start);

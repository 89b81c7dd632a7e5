-- Tenants, what administrators write for them, ownership and the audit.
-- The same tables and columns as in migrations/postgres; STRICT, so that a column holds its type and nothing else.

CREATE TABLE revision (
    id INTEGER NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL,
    pruned INTEGER NOT NULL
) STRICT;
INSERT INTO revision (id, value, pruned) VALUES (1, 0, 0);

CREATE TABLE changes (
    revision INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (revision, tenant, kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenants (
    name TEXT NOT NULL PRIMARY KEY,
    display_name TEXT NOT NULL,
    state TEXT NOT NULL,
    default_card TEXT,
    default_policy TEXT,
    floor_policy TEXT,
    settings BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;

CREATE TABLE cards (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    name TEXT NOT NULL,
    document BLOB NOT NULL,
    settings BLOB NOT NULL,
    sealed_credential BLOB,
    state TEXT NOT NULL,
    trust_tier TEXT NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX cards_by_name ON cards (tenant, name) WHERE deleted IS NULL;

CREATE TABLE card_versions (
    tenant TEXT NOT NULL,
    card_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    settings BLOB NOT NULL,
    changed_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, card_id, version)
) STRICT;

CREATE TABLE principals (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX principals_by_name ON principals (tenant, name) WHERE deleted IS NULL;

CREATE TABLE keys (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    principal_id TEXT NOT NULL,
    label TEXT NOT NULL,
    hash BLOB NOT NULL,
    hint TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    last_used INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX keys_by_hash ON keys (hash);
CREATE INDEX keys_by_tenant ON keys (tenant, id);
CREATE INDEX keys_by_principal ON keys (tenant, principal_id);

CREATE TABLE grants (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    name TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    document BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX grants_by_name ON grants (tenant, name) WHERE deleted IS NULL;
CREATE INDEX grants_by_principal ON grants (tenant, principal_id);

CREATE TABLE policies (
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
CREATE UNIQUE INDEX policies_by_name ON policies (tenant, name) WHERE deleted IS NULL;

CREATE TABLE policy_versions (
    tenant TEXT NOT NULL,
    policy_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    changed_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, policy_id, version)
) STRICT;

CREATE TABLE signing_keys (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (name),
    kid TEXT NOT NULL,
    purpose TEXT NOT NULL,
    public BLOB NOT NULL,
    sealed_private BLOB,
    state TEXT NOT NULL,
    created INTEGER NOT NULL,
    activated INTEGER,
    retired INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX signing_keys_by_kid ON signing_keys (tenant, kid);
CREATE INDEX signing_keys_by_tenant ON signing_keys (tenant, id);

CREATE TABLE tasks (
    tenant TEXT NOT NULL,
    card_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    context_id TEXT,
    created INTEGER NOT NULL,
    PRIMARY KEY (tenant, card_id, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_principal ON tasks (tenant, card_id, principal_id, created, task_id);

CREATE TABLE contexts (
    tenant TEXT NOT NULL,
    card_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (tenant, card_id, context_id)
) STRICT, WITHOUT ROWID;

-- prev_hash and hash are filled by the chain.
CREATE TABLE audit_records (
    writer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    at_open INTEGER NOT NULL,
    at_close INTEGER,
    principal TEXT,
    key_id TEXT,
    card TEXT,
    operation TEXT,
    dialect TEXT,
    outcome TEXT NOT NULL,
    fault TEXT,
    status INTEGER,
    correlation_id TEXT NOT NULL,
    task_id TEXT,
    document BLOB NOT NULL,
    prev_hash BLOB,
    hash BLOB,
    PRIMARY KEY (writer, seq)
) STRICT;
CREATE INDEX audit_records_by_time ON audit_records (tenant, at_open, writer, seq);
CREATE INDEX audit_records_by_correlation ON audit_records (tenant, correlation_id);

CREATE TABLE audit_summaries (
    writer TEXT NOT NULL,
    tenant TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    window_start INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (writer, tenant, reason, source, window_start)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_summaries_by_time ON audit_summaries (tenant, window_start);

-- What administrators changed, and what was refused to them: who, when, from where, which revision before and after. Never
-- what was written. A change's row is written in the change's own transaction. Rows of one request have one id.
CREATE TABLE admin_changes (
    id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    way TEXT NOT NULL,
    way_id TEXT NOT NULL,
    source TEXT NOT NULL,
    revision_before BIGINT,
    revision_after BIGINT,
    outcome TEXT NOT NULL,
    code TEXT,
    PRIMARY KEY (at, id, seq)
);
CREATE INDEX admin_changes_by_tenant ON admin_changes (tenant, at, id, seq);

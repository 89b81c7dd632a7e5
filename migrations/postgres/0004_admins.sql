-- Administrators: their accounts, their sessions in a browser, and tokens for programs.
-- The same tables and columns as in migrations/sqlite. They belong to no tenant: what one may do is in `roles`.

CREATE TABLE admins (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    display_name TEXT NOT NULL,
    password TEXT,
    roles BYTEA NOT NULL,
    state TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    signed_in BIGINT,
    deleted BIGINT,
    revision BIGINT NOT NULL
);
CREATE UNIQUE INDEX admins_by_name ON admins (name) WHERE deleted IS NULL;

-- The id is the SHA-256 of the cookie: a copy of the database opens no session.
CREATE TABLE admin_sessions (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    admin_id TEXT COLLATE "C" NOT NULL REFERENCES admins (id),
    source TEXT NOT NULL,
    created BIGINT NOT NULL,
    seen BIGINT NOT NULL
);
CREATE INDEX admin_sessions_by_admin ON admin_sessions (admin_id);

CREATE TABLE admin_tokens (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    hint TEXT NOT NULL,
    roles BYTEA NOT NULL,
    made_by TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    revoked BIGINT,
    used BIGINT
);
CREATE UNIQUE INDEX admin_tokens_by_hash ON admin_tokens (hash);

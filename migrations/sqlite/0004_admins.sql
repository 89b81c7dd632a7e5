-- Administrators: their accounts, their sessions in a browser, and tokens for programs.
-- The same tables and columns as in migrations/postgres. They belong to no tenant: what one may do is in `roles`.

CREATE TABLE admins (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    display_name TEXT NOT NULL,
    password TEXT,
    roles BLOB NOT NULL,
    state TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    signed_in INTEGER,
    deleted INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX admins_by_name ON admins (name) WHERE deleted IS NULL;

-- The id is the SHA-256 of the cookie: a copy of the database opens no session.
CREATE TABLE admin_sessions (
    id TEXT NOT NULL PRIMARY KEY,
    admin_id TEXT NOT NULL REFERENCES admins (id),
    source TEXT NOT NULL,
    created INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT;
CREATE INDEX admin_sessions_by_admin ON admin_sessions (admin_id);

CREATE TABLE admin_tokens (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    hint TEXT NOT NULL,
    roles BLOB NOT NULL,
    made_by TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    used INTEGER
) STRICT;
CREATE UNIQUE INDEX admin_tokens_by_hash ON admin_tokens (hash);

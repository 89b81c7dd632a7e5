-- Single sign-on of administrators: whom of a provider an account is, and which sign-ins were finished.
-- The same tables and columns as in migrations/postgres.

ALTER TABLE admins ADD COLUMN sso_issuer TEXT;
ALTER TABLE admins ADD COLUMN sso_subject TEXT;
CREATE UNIQUE INDEX admins_by_sso ON admins (sso_issuer, sso_subject) WHERE deleted IS NULL;

-- The id is the SHA-256 of a sign-in's state: each is finished once, whichever replica it comes back to.
CREATE TABLE admin_sso_uses (
    id TEXT NOT NULL PRIMARY KEY,
    used INTEGER NOT NULL
) STRICT;

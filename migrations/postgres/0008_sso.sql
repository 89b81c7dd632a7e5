-- Single sign-on of administrators: whom of a provider an account is, and which sign-ins were finished.
-- The same tables and columns as in migrations/sqlite.

ALTER TABLE admins ADD COLUMN sso_issuer TEXT COLLATE "C";
ALTER TABLE admins ADD COLUMN sso_subject TEXT COLLATE "C";
CREATE UNIQUE INDEX admins_by_sso ON admins (sso_issuer, sso_subject) WHERE deleted IS NULL;

-- The id is the SHA-256 of a sign-in's state: each is finished once, whichever replica it comes back to.
CREATE TABLE admin_sso_uses (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    used BIGINT NOT NULL
);

-- Groups of principals, grants to groups, and what was used of limits.

-- Groups and limits of a principal (JSON).
ALTER TABLE principals ADD COLUMN settings BYTEA NOT NULL DEFAULT '\x7b7d';

-- A grant to a group has an empty principal_id.
ALTER TABLE grants ADD COLUMN group_name TEXT;

-- What a subject (a tenant, principal, card or grant) used in a minute, day or month that began at `starts`.
CREATE TABLE usage_counts (
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    period TEXT NOT NULL,
    starts BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (tenant, subject, period, starts)
);

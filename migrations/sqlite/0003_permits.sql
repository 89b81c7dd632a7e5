-- Groups of principals, grants to groups, and what was used of limits.

-- Groups and limits of a principal (JSON).
ALTER TABLE principals ADD COLUMN settings BLOB NOT NULL DEFAULT X'7B7D';

-- A grant to a group has an empty principal_id.
ALTER TABLE grants ADD COLUMN group_name TEXT;

-- What a subject (a tenant, principal, card or grant) used in a minute, day or month that began at `starts`.
CREATE TABLE usage_counts (
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    period TEXT NOT NULL,
    starts INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (tenant, subject, period, starts)
) STRICT, WITHOUT ROWID;

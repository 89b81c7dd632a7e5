-- Places among calls in flight and open streams that replicas hold of a shared limit, until they expire.
-- The row without a replica is held by nobody: whoever lends places of a subject locks it first.
CREATE TABLE shared_places (
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    replica TEXT NOT NULL,
    held INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, subject, kind, replica)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_places_by_end ON shared_places (expires);

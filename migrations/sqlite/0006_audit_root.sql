-- The call that a record's tree of delegations began with. Records from before have none: their document has it.
ALTER TABLE audit_records ADD COLUMN chain_root TEXT;
CREATE INDEX audit_records_by_root ON audit_records (tenant, chain_root, at_open, writer, seq);

-- What records are found by besides their columns: what detectors saw, what would have stopped them, their context.
-- Records from before have no marks. One row a record and mark; a mark's rows lie together in the order of time.
CREATE TABLE audit_marks (
    tenant TEXT COLLATE "C" NOT NULL,
    mark TEXT COLLATE "C" NOT NULL,
    at_open BIGINT NOT NULL,
    writer TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (tenant, mark, at_open, writer, seq)
);
CREATE INDEX audit_records_by_task ON audit_records (tenant, task_id, at_open, writer, seq) WHERE task_id IS NOT NULL;
-- In the order that searches are told in.
DROP INDEX audit_records_by_correlation;
CREATE INDEX audit_records_by_correlation ON audit_records (tenant, correlation_id, at_open, writer, seq);

-- Whose work it is that has no end: a node's number, and the process of it (section 7). Null: of a
-- gateway that was in no fleet.
ALTER TABLE event_open ADD COLUMN node smallint, ADD COLUMN boot bigint;
ALTER TABLE event_turn ADD COLUMN node smallint, ADD COLUMN boot bigint;

-- Work that one process at a time does. Another takes it when that one has ended or is fenced off.
CREATE TABLE job_lease (
    job text PRIMARY KEY,
    node smallint NOT NULL,
    boot bigint NOT NULL,
    token bigint NOT NULL
);

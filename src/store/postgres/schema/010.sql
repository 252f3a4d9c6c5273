-- The fleet's nodes and links (section 3). `boot` is of the process that has the incarnation;
-- `links` grows with each change of its links.
ALTER TABLE node
    ADD COLUMN boot bigint NOT NULL DEFAULT 0,
    ADD COLUMN beats bigint NOT NULL DEFAULT 0,
    ADD COLUMN links bigint NOT NULL DEFAULT 0;

-- Connections of devices, as the node has them that they are at: `tools` as src/fleet writes them.
-- Those count that have the incarnation of a node that lives.
CREATE SEQUENCE link_epoch;
CREATE TABLE link (
    node smallint NOT NULL,
    connection bigint NOT NULL,
    incarnation int NOT NULL,
    epoch bigint NOT NULL,
    source text NOT NULL,
    tools bytea NOT NULL,
    PRIMARY KEY (node, connection)
);

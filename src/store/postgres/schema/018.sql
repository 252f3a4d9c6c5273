-- Peers and leases are the fleet's. A lease that is bound to a connection is its node's, and ends
-- with its incarnation.
INSERT INTO trust_change (what) VALUES ('peer'), ('lease');
CREATE CONSTRAINT TRIGGER peer_changed AFTER INSERT OR DELETE OR UPDATE OF status, endpoint,
    fingerprint, serial_number, tool_url
    ON peer DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('peer');
ALTER TABLE lease ADD COLUMN node smallint, ADD COLUMN incarnation int;
CREATE CONSTRAINT TRIGGER lease_changed AFTER INSERT OR UPDATE
    ON lease DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('lease');

-- What all nodes need and nobody else may read, sealed by a key of the fleet's file; the digest is
-- of what is sealed, so that a node which has that knows it when the key is lost.
CREATE TABLE fleet_secret (
    name text COLLATE "C" PRIMARY KEY,
    sealed bytea NOT NULL,
    digest text COLLATE "C" NOT NULL
);

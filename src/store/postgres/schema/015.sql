-- What people grant and revoke is the fleet's. How often each kind of it has changed, so that nodes
-- know when to read it again; counted when a transaction ends, so that whoever has read a number
-- reads all that it counts.
CREATE TABLE trust_change (
    what text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL DEFAULT 0,
    tx xid8
) WITH (fillfactor = 20);

CREATE FUNCTION count_trust_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE trust_change SET number = number + 1, tx = pg_current_xact_id()
        WHERE what = TG_ARGV[0] AND tx IS DISTINCT FROM pg_current_xact_id();
    RETURN NULL;
END $$;

INSERT INTO trust_change (what) VALUES ('token'), ('session'), ('code');
CREATE CONSTRAINT TRIGGER token_changed AFTER INSERT OR DELETE OR UPDATE OF revoked_ms, caller
    ON token DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('token');
CREATE CONSTRAINT TRIGGER device_changed AFTER UPDATE OF display_name
    ON device DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('token');

-- Pairing codes of all nodes. `form`: HMAC of the digits by a key of the fleet, for twelve digits
-- can all be tried. `taken`: somebody has brought it and has no token yet.
CREATE TABLE pairing_code (
    id text COLLATE "C" PRIMARY KEY,
    form text COLLATE "C" NOT NULL,
    name text NOT NULL,
    roles text NOT NULL,
    tenants text[] NOT NULL,
    lifetime_ms bigint,
    device text NOT NULL,
    vouched_key bytea NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'taken', 'paired', 'ended')),
    paired_as text NOT NULL,
    wrong_tries int NOT NULL,
    opened timestamptz NOT NULL,
    expires timestamptz NOT NULL
);
CREATE CONSTRAINT TRIGGER pairing_code_changed AFTER INSERT OR DELETE OR UPDATE
    ON pairing_code DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('code');

-- Challenges that a key has signed, and the sessions that were opened with them.
CREATE TABLE used_nonce (
    nonce text COLLATE "C" PRIMARY KEY,
    used timestamptz NOT NULL
);
CREATE INDEX used_nonce_used ON used_nonce (used);
CREATE TABLE key_session (
    hash bytea PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL,
    expires_ms bigint NOT NULL,
    added timestamptz NOT NULL
);
CREATE INDEX key_session_key ON key_session (key_id, added);
CREATE INDEX key_session_added ON key_session (added);
CREATE CONSTRAINT TRIGGER key_session_changed AFTER INSERT
    ON key_session DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('session');

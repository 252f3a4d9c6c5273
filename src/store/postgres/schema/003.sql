-- Events: one line for the fleet (section 7). The row of event_head is locked by every append, so
-- that positions are dense and in the order of commits. `bytes`: of what is stored, about.
CREATE TABLE event_head (
    one bool PRIMARY KEY DEFAULT true CHECK (one),
    epoch bigint NOT NULL,
    last bigint NOT NULL,
    bytes bigint NOT NULL
) WITH (fillfactor = 20);
INSERT INTO event_head (epoch, last, bytes) VALUES (1, 0, 0);

CREATE TABLE event (
    position bigint PRIMARY KEY,
    at_ms bigint NOT NULL,
    type text NOT NULL,
    step smallint NOT NULL,
    event_id text NOT NULL,
    tenant text NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    addressee text NOT NULL,
    envelope text NOT NULL
);
CREATE INDEX event_at ON event USING brin (at_ms);

-- `key`: "e" and an event's id, or "k" and an idempotency key.
CREATE TABLE event_repeat (
    publisher text NOT NULL,
    key text NOT NULL,
    content bytea NOT NULL,
    event_id text NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (publisher, key)
);
CREATE INDEX event_repeat_position ON event_repeat (position);

-- Requests of calls and starts of turns that have no end.
CREATE TABLE event_open (
    request_id text PRIMARY KEY,
    position bigint NOT NULL
);
CREATE INDEX event_open_position ON event_open (position);

-- Ends of unknown outcome, which their host may settle once.
CREATE TABLE event_doubt (
    tenant text NOT NULL,
    call_id text NOT NULL,
    addressee text NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (tenant, call_id, addressee)
);
CREATE INDEX event_doubt_position ON event_doubt (position);

CREATE TABLE subscription (
    peer text NOT NULL,
    name text NOT NULL,
    acknowledged bigint NOT NULL,
    types text NOT NULL,
    seen_ms bigint NOT NULL,
    PRIMARY KEY (peer, name)
);

-- Nodes: who may write (docs/protocols/fleet.md, section 3). Rows are never deleted.
CREATE TABLE node (
    number smallint PRIMARY KEY,
    incarnation int NOT NULL,
    name text NOT NULL,
    state text NOT NULL CHECK (state IN ('live', 'draining', 'fenced', 'left'))
) WITH (fillfactor = 50);

-- The ledger (section 6). `key` is the first half of SHA-256 over tenant, principal and key.
-- Beyond the page: the whole digest of the content, and tool, source and effects, for repeats
-- while the tool is not registered.
CREATE TABLE call (
    key uuid NOT NULL,
    ref uuid NOT NULL,
    content bytea NOT NULL,
    node smallint NOT NULL,
    incarnation int NOT NULL,
    may_run_again bool NOT NULL,
    instance bigint,
    tool text NOT NULL,
    source text NOT NULL,
    side_effects bool NOT NULL,
    admitted timestamptz NOT NULL,
    PRIMARY KEY (key)
) PARTITION BY HASH (key);
CREATE INDEX call_admitted ON call USING brin (admitted);

-- One row for each ref, ever. `kind`: 0 text, 1 JSON, 2 bytes, or an error if there is a code;
-- 10: released, 11: taken over. `usage`: cpu_ms, wall_ms, peak memory in bytes.
CREATE TABLE call_end (
    ref uuid NOT NULL,
    ended timestamptz NOT NULL,
    duration_us bigint NOT NULL,
    code text,
    kind smallint NOT NULL,
    first bytea NOT NULL,
    second bytea NOT NULL,
    logs text NOT NULL,
    retryable bool,
    retry_after_ms bigint,
    usage bigint[] NOT NULL,
    PRIMARY KEY (ref)
) PARTITION BY HASH (ref);

DO $$
BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format('CREATE TABLE call_%s PARTITION OF call FOR VALUES WITH (MODULUS 16, '
                       'REMAINDER %s) WITH (autovacuum_vacuum_scale_factor = 0.02)', i, i);
        EXECUTE format('CREATE TABLE call_end_%s PARTITION OF call_end FOR VALUES WITH (MODULUS '
                       '16, REMAINDER %s) WITH (autovacuum_vacuum_scale_factor = 0.02)', i, i);
    END LOOP;
END $$;

-- What the audit log and the events may lack of a call after a crash.
CREATE TABLE call_debt (
    ref uuid NOT NULL,
    node smallint NOT NULL,
    incarnation int NOT NULL,
    record text,
    event text,
    addressee text,
    at timestamptz NOT NULL,
    PRIMARY KEY (at, ref)
) PARTITION BY RANGE (at);
CREATE TABLE call_debt_rest PARTITION OF call_debt DEFAULT;

CREATE TABLE call_task (
    id text PRIMARY KEY,
    tenant text NOT NULL,
    principal text NOT NULL,
    call_id text NOT NULL,
    request text NOT NULL,
    resume text NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    ended bool NOT NULL,
    status text NOT NULL,
    outcome text NOT NULL,
    bytes bigint NOT NULL
);
CREATE INDEX call_task_of ON call_task (principal);
CREATE INDEX call_task_created ON call_task (created_ms);

CREATE TABLE agent_position (
    agent text PRIMARY KEY,
    position bigint NOT NULL
);
CREATE TABLE event_turn (
    agent text NOT NULL,
    event_id text NOT NULL,
    turn_id text NOT NULL UNIQUE,
    event_type text NOT NULL,
    session text NOT NULL,
    begun_ms bigint NOT NULL,
    ended_ms bigint,
    outcome text NOT NULL,
    PRIMARY KEY (agent, event_id)
);
CREATE INDEX event_turn_begun ON event_turn (begun_ms);
CREATE INDEX event_turn_open ON event_turn (begun_ms) WHERE ended_ms IS NULL;

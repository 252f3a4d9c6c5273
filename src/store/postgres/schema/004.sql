-- Cron jobs, their requests, and the events that they have fired (section 7).
CREATE TABLE cron_job (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    schedule text NOT NULL,
    timezone text NOT NULL,
    event_type text NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    isolation_key text NOT NULL,
    input text NOT NULL,
    missed_ticks text NOT NULL,
    enabled bool NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    next_run_ms bigint NOT NULL,
    last_run_ms bigint,
    wake_ms bigint NOT NULL,
    decided_ms bigint NOT NULL,
    UNIQUE (tenant, job_id)
);
CREATE INDEX cron_job_wake ON cron_job (wake_ms, number) WHERE enabled;

CREATE TABLE cron_outbox (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job bigint NOT NULL,
    envelope text NOT NULL,
    refusals int NOT NULL DEFAULT 0,
    retry_ms bigint NOT NULL DEFAULT 0
);
CREATE INDEX cron_outbox_retry ON cron_outbox (retry_ms, number);
CREATE INDEX cron_outbox_job ON cron_outbox (job);

CREATE TABLE cron_request (
    tenant text NOT NULL,
    principal text NOT NULL,
    key text NOT NULL,
    content bytea NOT NULL,
    operation_id text NOT NULL,
    job_id text NOT NULL,
    session_id text NOT NULL,
    next_run_ms bigint NOT NULL,
    made_ms bigint NOT NULL,
    PRIMARY KEY (tenant, principal, key)
);
CREATE INDEX cron_request_made ON cron_request (made_ms);

-- Memories (section 7). A row of memory_entry is numbered `scope << 32 | n`; its words begin with
-- the number of their scope, so that the index of one scope costs what that scope holds. Texts are
-- bytes: they may hold a NUL.
CREATE TABLE memory_scope (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    isolation_key text COLLATE "C" NOT NULL,
    added bigint NOT NULL DEFAULT 0,
    entries bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    UNIQUE (tenant, agent_id, isolation_key)
) WITH (fillfactor = 50);

CREATE TABLE memory_entry (
    row bigint PRIMARY KEY,
    scope bigint NOT NULL,
    occurred_ms bigint NOT NULL,
    created_ms bigint NOT NULL,
    word_count int NOT NULL,
    entry_id text COLLATE "C" NOT NULL UNIQUE,
    tag_set text[] NOT NULL,
    words tsvector NOT NULL,
    tags text NOT NULL,
    metadata text NOT NULL,
    content bytea NOT NULL
);
CREATE INDEX memory_entry_time ON memory_entry (scope, occurred_ms, row);
CREATE INDEX memory_entry_words ON memory_entry USING gin (words);

CREATE TABLE memory_change (
    key bytea PRIMARY KEY,
    content bytea NOT NULL,
    at_ms bigint NOT NULL,
    operation_id text NOT NULL,
    entry_ids text NOT NULL,
    deleted bigint NOT NULL,
    not_found text NOT NULL
);
CREATE INDEX memory_change_time ON memory_change (at_ms);

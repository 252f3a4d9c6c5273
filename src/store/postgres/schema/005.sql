-- Chats (section 7). `node`, `incarnation` and `claim` say who may write to a session.
CREATE TABLE chat_session (
    id text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    name text NOT NULL,
    persona text NOT NULL,
    created_ms bigint NOT NULL,
    active_ms bigint NOT NULL,
    message_count bigint NOT NULL,
    node smallint,
    incarnation int,
    claim bigint NOT NULL DEFAULT 0
);
CREATE INDEX chat_session_owner ON chat_session (owner, active_ms);

CREATE TABLE chat_message (
    number bigint GENERATED ALWAYS AS IDENTITY,
    session text COLLATE "C" NOT NULL REFERENCES chat_session (id) ON DELETE CASCADE,
    role text NOT NULL,
    content text NOT NULL,
    created_ms bigint NOT NULL,
    extra text NOT NULL,
    turn text NOT NULL,
    outcome text NOT NULL,
    display text NOT NULL,
    PRIMARY KEY (session, number)
);

CREATE TABLE chat_draft (
    session text COLLATE "C" PRIMARY KEY REFERENCES chat_session (id) ON DELETE CASCADE,
    turn text NOT NULL,
    content text NOT NULL,
    created_ms bigint NOT NULL
);

CREATE TABLE chat_picture (
    id text PRIMARY KEY,
    session text COLLATE "C" NOT NULL REFERENCES chat_session (id) ON DELETE CASCADE,
    mime_type text NOT NULL,
    width bigint NOT NULL,
    height bigint NOT NULL,
    created_ms bigint NOT NULL,
    size bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE chat_picture ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX chat_picture_session ON chat_picture (session, created_ms);

-- Browsers that are signed in to the console of a node: digests of a session's two halves.
CREATE TABLE console_session (
    node smallint NOT NULL,
    number bigint NOT NULL,
    cookie_sha256 bytea NOT NULL UNIQUE,
    key_sha256 bytea NOT NULL,
    principal text NOT NULL,
    roles text NOT NULL,
    credential text NOT NULL,
    expires_ms bigint NOT NULL,
    used_ms bigint NOT NULL,
    PRIMARY KEY (node, number)
);

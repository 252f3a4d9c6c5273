-- Browsers that a node tells of questions by a push service; each is bound to that node's key.
CREATE TABLE push_subscription (
    node smallint NOT NULL,
    id text COLLATE "C" NOT NULL,
    principal text NOT NULL,
    credential text NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    receiver_point bytea NOT NULL,
    receiver_secret bytea NOT NULL,
    created_ms bigint NOT NULL,
    PRIMARY KEY (node, id),
    UNIQUE (node, endpoint)
);

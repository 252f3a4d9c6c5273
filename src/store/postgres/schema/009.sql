-- Passkeys of the console, of all nodes; the key of each is a row of token.
CREATE TABLE console_passkey (
    id text COLLATE "C" PRIMARY KEY,
    credential text COLLATE "C" NOT NULL UNIQUE,
    rp_id text NOT NULL,
    label text NOT NULL,
    sign_count bigint NOT NULL,
    created_ms bigint NOT NULL,
    used_ms bigint
);

-- Who may do what (section 7).
CREATE TABLE device (
    slug text PRIMARY KEY,
    display_name text NOT NULL,
    created_ms bigint NOT NULL,
    last_seen_ms bigint
);
CREATE TABLE token (
    id text PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    name text NOT NULL,
    device text REFERENCES device (slug),
    caller text NOT NULL,
    roles text NOT NULL,
    tenants text[] NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint,
    revoked_ms bigint,
    last_used_ms bigint,
    public_key bytea
);

CREATE TABLE peer (
    component_type text NOT NULL,
    component_id text NOT NULL,
    endpoint text NOT NULL,
    public_key_ed25519 bytea NOT NULL,
    public_key_x25519 bytea NOT NULL,
    fingerprint text NOT NULL,
    serial_number text NOT NULL,
    not_after_ms bigint NOT NULL,
    pairing_id text NOT NULL,
    paired_ms bigint NOT NULL,
    last_seen_ms bigint,
    status text NOT NULL,
    tool_url text NOT NULL,
    PRIMARY KEY (component_type, component_id)
);
CREATE UNIQUE INDEX peer_active_endpoint ON peer (endpoint) WHERE status = 'active';
CREATE TABLE peer_certificate (
    serial_number text NOT NULL UNIQUE,
    fingerprint text PRIMARY KEY,
    component_type text NOT NULL,
    component_id text NOT NULL,
    pairing_id text NOT NULL,
    key_digest bytea NOT NULL,
    certificate_pem text NOT NULL,
    not_before_ms bigint NOT NULL,
    not_after_ms bigint NOT NULL,
    issued_ms bigint NOT NULL,
    renews text NOT NULL,
    state text NOT NULL,
    revoked_ms bigint,
    revoke_reason text NOT NULL
);
CREATE INDEX peer_certificate_name ON peer_certificate (component_type, component_id);
CREATE INDEX peer_certificate_key ON peer_certificate (key_digest);

CREATE TABLE lease (
    id text PRIMARY KEY,
    owner text NOT NULL,
    tenant text NOT NULL,
    agent text NOT NULL,
    session text NOT NULL,
    capabilities jsonb NOT NULL,
    disconnect_bound bool NOT NULL,
    ttl_ms bigint NOT NULL,
    issued_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    revoked_ms bigint,
    revoke_reason text NOT NULL
);
CREATE INDEX lease_end ON lease (coalesce(revoked_ms, expires_ms));

CREATE TABLE approval (
    id text PRIMARY KEY,
    allow bool NOT NULL,
    tenant text NOT NULL,
    principal text NOT NULL,
    tool text NOT NULL,
    source text NOT NULL,
    place text NOT NULL,
    rule text NOT NULL,
    network text NOT NULL,
    privilege text NOT NULL,
    decided_by text NOT NULL,
    decided_ms bigint NOT NULL
);

CREATE TABLE device_tool (
    device text NOT NULL,
    tool text NOT NULL,
    waiting bool NOT NULL,
    PRIMARY KEY (device, tool)
);

CREATE TABLE pin (
    source text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    digest text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (source, kind, key)
);

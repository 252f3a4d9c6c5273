-- Artifacts (section 7), visible when they are complete. `charge` counts against the quotas, of what
-- is being written too; `node` writes it.
CREATE TABLE artifact (
    id text COLLATE "C" PRIMARY KEY,
    node smallint NOT NULL,
    complete bool NOT NULL DEFAULT false,
    charge bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    call_id text NOT NULL,
    tool text NOT NULL,
    content_type text NOT NULL,
    sha256 text NOT NULL,
    bytes bigint NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint NOT NULL
);
CREATE INDEX artifact_tenant ON artifact (tenant, created_ms);
CREATE INDEX artifact_expiry ON artifact (expires_ms);
CREATE INDEX artifact_unfinished ON artifact (node) WHERE NOT complete;

CREATE TABLE artifact_chunk (
    id text COLLATE "C" NOT NULL,
    n int NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (id, n)
);
ALTER TABLE artifact_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;

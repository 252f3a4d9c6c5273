#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// A session of a key (Tokens::open_session()), as other nodes learn of it.
struct StoredSession {
    std::string hash_hex;  ///< SHA-256 of its token
    std::string key_id;
    SystemTime expires_at;
};

/// What the nodes of a fleet share of keys that devices sign with. Every function may block.
/// Thread-safe. Errors: those of a store.
class SharedCredentials {
public:
    virtual ~SharedCredentials() = default;

    /// False when a node has used it up before.
    virtual Result<bool> use_up(std::string_view challenge) = 0;
    /// Of one key the latest `most` stay.
    virtual Result<void> add_session(const StoredSession& session, std::size_t most) = 0;
    /// Those that live and that were added since the last call, and perhaps some more.
    virtual Result<std::vector<StoredSession>> new_sessions() = 0;
};

}  // namespace crab::trust

#pragma once

#include "base/result.hpp"
#include "console/console_session.hpp"
#include "crypto/digest.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace crab::console {

/// A session as it is kept: digests of its halves, and nothing that opens it.
struct StoredSession {
    crypto::Sha256Digest cookie{}, key{};
    ConsoleSession session;  ///< without its proof: after a restart a key is asked for again
    SystemTime used_at;
};

/// A session was used at that time.
struct SessionUse {
    std::uint64_t number = 0;
    SystemTime at;
};

/// Store of the sessions that outlive a restart. Every function may block and is atomic and
/// durable. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class SessionStore {
public:
    virtual ~SessionStore() = default;

    /// By number.
    virtual Result<std::vector<StoredSession>> load_all() = 0;
    virtual Result<void> insert(const StoredSession& session) = 0;
    virtual Result<void> remove(std::span<const std::uint64_t> numbers) = 0;
    virtual Result<void> record_uses(std::span<const SessionUse> uses) = 0;
};

}  // namespace crab::console

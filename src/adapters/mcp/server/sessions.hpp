#pragma once

#include "adapters/mcp/server/session.hpp"
#include "base/hash.hpp"
#include "crypto/random_source.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::mcp {

/// The sessions of all legacy clients of a gateway. Any number of threads.
class Sessions {
public:
    struct Limits {
        Milliseconds idle{30 * 60 * 1000};  ///< `mcp.session_idle`
        std::size_t per_principal = 64;
        /// Of events that are kept for resuming, and of those that HTTP+SSE has not sent yet; one
        /// of them holds the largest reply.
        std::size_t bytes_per_session = std::size_t{10} << 20;
        std::size_t bytes_per_principal = std::size_t{16} << 20;
        std::size_t bytes_in_all = std::size_t{256} << 20;
    };
    Sessions(const Clock& clock, crypto::RandomSource& random, Limits limits)
        : clock_(clock),
          random_(random),
          limits_(limits),
          replies_(limits.bytes_per_principal, limits.bytes_in_all),
          unread_(limits.bytes_per_principal, limits.bytes_in_all) {}

    /// Opens one under a new id, which is set here. Of a principal that has as many as it may, the
    /// one that was idle for longest ends; if all are busy, the oldest.
    std::shared_ptr<Session> open(Session::Facts facts);
    /// Null when it is unknown, has ended, or belongs to somebody else. HTTP+SSE has its own.
    std::shared_ptr<Session> find(std::string_view id, const core::Principal& principal);
    void end(const std::shared_ptr<Session>& session);
    /// This credential was revoked.
    void end_credential(std::string_view credential);
    /// Ends the sessions that were idle for too long, and drops what others need not keep any more;
    /// false when there are none left.
    bool sweep();
    std::size_t size() const;

private:
    using Found =
        std::unordered_map<std::string, std::shared_ptr<Session>, TextHash, std::equal_to<>>;
    using Taken = std::vector<std::shared_ptr<Session>>;
    /// Takes those out, to be ended without the lock.
    template <class Which>
    void take_if(Taken& taken, Which which);
    bool is_old(const Session& session) const;
    void make_room(Taken& taken, std::string_view principal);

    const Clock& clock_;
    crypto::RandomSource& random_;
    const Limits limits_;
    ByteBudgets replies_;
    ByteBudgets unread_;  ///< what clients of HTTP+SSE have not taken
    mutable std::mutex mutex_;
    Found sessions_;
    std::atomic<std::uint64_t> last_number_ = 0;
};

}  // namespace crab::mcp

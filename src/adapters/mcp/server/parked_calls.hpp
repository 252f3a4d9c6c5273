#pragma once

#include "adapters/mcp/server/parked_call.hpp"
#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The calls whose clients were asked something, until a while after their end, so that a repeat of
/// the last round gets the same outcome. Any number of threads.
class ParkedCalls {
public:
    struct Limits {
        std::size_t in_all = 4096, per_principal = 64;
        std::size_t bytes_in_all = std::size_t{256} << 20;
        std::size_t bytes_per_principal = std::size_t{16} << 20;
    };
    ParkedCalls(const Clock& clock, Milliseconds kept) : ParkedCalls(clock, kept, Limits()) {}
    ParkedCalls(const Clock& clock, Milliseconds kept, const Limits& limits)
        : clock_(clock),
          kept_(kept),
          limits_(limits),
          bytes_(limits.bytes_per_principal, limits.bytes_in_all) {}

    /// Keeps it, if it is not kept already; false when there are too many, or its principal's take
    /// too much.
    bool keep(const std::shared_ptr<ParkedCall>& call);
    /// Null when it is not known, or no more.
    std::shared_ptr<ParkedCall> find(std::string_view key) const;
    /// A credential was revoked: its calls are cancelled.
    void end_credential(std::string_view credential);
    /// Drops those that have ended long ago; false when there are none left.
    bool sweep();
    /// The gateway stops: nobody will answer.
    void give_up();

private:
    void forget_old();

    const Clock& clock_;
    const Milliseconds kept_;
    const Limits limits_;
    ByteBudgets bytes_;
    mutable OrderedMutex<LockRank::kParkedCalls> mutex_;
    std::map<std::string, std::shared_ptr<ParkedCall>, std::less<>> calls_;
};

}  // namespace crab::mcp

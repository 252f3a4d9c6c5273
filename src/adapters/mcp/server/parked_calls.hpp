#pragma once

#include "adapters/mcp/server/parked_call.hpp"
#include "base/clock.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The calls whose clients were asked something, until a while after their end, so that a repeat of
/// the last round gets the same outcome. Any number of threads.
class ParkedCalls {
public:
    static constexpr std::size_t kMost = 4096;

    ParkedCalls(const Clock& clock, Milliseconds kept) : clock_(clock), kept_(kept) {}

    /// Keeps it, if it is not kept already; false when there are too many.
    bool keep(const std::shared_ptr<ParkedCall>& call);
    /// Null when it is not known, or no more.
    std::shared_ptr<ParkedCall> find(std::string_view key) const;
    /// A credential was revoked: its calls are cancelled.
    void end_credential(std::string_view credential);
    /// The gateway stops: nobody will answer.
    void give_up();

private:
    const Clock& clock_;
    const Milliseconds kept_;
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<ParkedCall>, std::less<>> calls_;
};

}  // namespace crab::mcp

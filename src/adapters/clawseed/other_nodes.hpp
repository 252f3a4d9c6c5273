#pragma once

#include "base/clock.hpp"
#include "core/call/call.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace crab::clawseed {

/// A request that waits at another node of the fleet for this device's answer.
struct RequestOfOther {
    std::string principal, chat, instance;  ///< whose it is
    std::string id, tool, args, caller, agent, traceparent;
    Deadline deadline = kNoDeadline;
    bool asked_before = false;  ///< the link has the request already
};

/// What a link says to that: from its own loop.
struct WordToOther {
    enum class Kind : std::uint8_t { kLinked, kGone, kAnswer, kTooLong, kProgress };
    Kind kind = Kind::kGone;
    std::string frame{};  ///< of an answer, or of progress
};
using TellOther = std::function<void(WordToOther)>;

/// The other nodes of the fleet, for the links of this one. Thread-safe.
class OtherNodes {
public:
    virtual ~OtherNodes() = default;
    /// This process of a device is linked here now; calls for it may wait elsewhere.
    virtual void arrived(ConnectionId connection, std::string principal, std::string chat,
                         std::string instance) = 0;
};

}  // namespace crab::clawseed

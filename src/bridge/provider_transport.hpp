#pragma once

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/method_call.hpp"
#include "adapters/cetp/provider_record.hpp"
#include "base/clock.hpp"
#include "base/task/task.hpp"

#include <optional>

namespace crab::bridge {

/// What came of one send: an envelope, which may be one that the transport made (a refusal, a
/// timeout, a result that is too large), or nothing, and only then is the call repeated. Source:
/// docs/protocols/cetp.md, rules 28, 29 and 47.
using Delivery = std::optional<cetp::Envelope>;

/// One way to reach providers. Used on one loop's thread.
class ProviderTransport {
public:
    virtual ~ProviderTransport() = default;
    /// Sends the call once. A cancelled chain ends the wait at once; what is then returned is
    /// dropped.
    virtual Task<Delivery> send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                                Deadline deadline) = 0;
    /// The silent step before a repeat: has the system start the provider if it can.
    virtual Task<void> start_silently(const cetp::ProviderRecord& provider, Deadline deadline) = 0;
};

}  // namespace crab::bridge

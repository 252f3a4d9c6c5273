#pragma once

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/method_call.hpp"
#include "adapters/cetp/provider_record.hpp"
#include "base/clock.hpp"
#include "base/task/task.hpp"

#include <optional>

namespace crab::bridge {

/// The result of one send: an envelope, possibly made by the transport (a refusal, a timeout, an
/// oversized result), or nothing; only then is the call retried. Source: docs/protocols/cetp.md,
/// rules 28, 29 and 47.
using Delivery = std::optional<cetp::Envelope>;

/// Of an answer that comes over a pipe or a socket.
inline constexpr std::size_t kMaxEnvelope = std::size_t{1} << 20;

/// One way to reach providers. Used on one loop's thread.
class ProviderTransport {
public:
    virtual ~ProviderTransport() = default;
    /// Sends the call once. Cancellation ends the wait immediately; the result is then dropped.
    virtual Task<Delivery> send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                                Deadline deadline) = 0;
    /// The silent step before a retry: has the system start the provider if it can.
    virtual Task<void> start_silently(const cetp::ProviderRecord& provider, Deadline deadline) = 0;
};

}  // namespace crab::bridge

#pragma once

#include "adapters/cetp/retry_sequence.hpp"
#include "bridge/provider_transport.hpp"
#include "net/loop/event_loop.hpp"

#include <map>
#include <string>

namespace crab::bridge {

/// Calls providers over the transport that their record names, with the sequence of retries and
/// at most eight concurrent calls per provider. Used on its loop's thread. Source:
/// docs/protocols/cetp.md, rules 28 and 43 to 48.
class ProviderCaller {
public:
    static constexpr Milliseconds kSilentWait{300};
    static constexpr std::size_t kMaxCallsOfProvider = 8;

    /// The available transports.
    using Transports = std::map<cetp::Transport, std::unique_ptr<ProviderTransport>>;

    ProviderCaller(net::EventLoop& loop, Transports transports)
        : loop_(loop), transports_(std::move(transports)) {}

    /// Whether a call to that provider is in progress.
    bool is_calling(const std::string& provider_id) const {
        const auto found = running_.find(provider_id);
        return found != running_.end() && found->second > 0;
    }
    /// The provider's answer; failures are envelopes too. `provider` and `call` are kept until the
    /// end.
    Task<cetp::Envelope> call(std::shared_ptr<const cetp::ProviderRecord> provider,
                              cetp::MethodCall call, cetp::RetrySequence::Purpose purpose,
                              Deadline deadline);

private:
    Task<cetp::Envelope> call_with_retries(ProviderTransport& transport,
                                           const cetp::ProviderRecord& provider,
                                           const cetp::MethodCall& call,
                                           cetp::RetrySequence::Purpose purpose, Deadline deadline);

    net::EventLoop& loop_;
    Transports transports_;
    std::map<std::string, std::size_t> running_;  // by provider id
};

}  // namespace crab::bridge

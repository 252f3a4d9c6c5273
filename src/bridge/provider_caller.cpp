#include "bridge/provider_caller.hpp"

#include "base/scope_exit.hpp"
#include "base/task/waiter.hpp"

#include <fmt/format.h>

namespace crab::bridge {

using cetp::Envelope;
using cetp::RetrySequence;

Task<Envelope> ProviderCaller::call(std::shared_ptr<const cetp::ProviderRecord> provider,
                                    cetp::MethodCall call, RetrySequence::Purpose purpose,
                                    Deadline deadline) {
    const auto transport = transports_.find(provider->transport);
    if (transport == transports_.end())
        co_return Envelope::error(cetp::code::kInternalError,
                                  "this bridge cannot reach the provider");
    std::size_t& running = running_[provider->id];
    if (running >= kMaxCallsOfProvider)
        co_return Envelope::error(cetp::code::kRateLimited,
                                  "the provider is busy with other calls; try again in a moment");
    ++running;
    const ScopeExit ended([&running] { --running; });
    co_return co_await call_with_retries(*transport->second, *provider, call, purpose, deadline);
}

Task<Envelope> ProviderCaller::call_with_retries(ProviderTransport& transport,
                                                 const cetp::ProviderRecord& provider,
                                                 const cetp::MethodCall& call,
                                                 RetrySequence::Purpose purpose,
                                                 Deadline deadline) {
    TaskChain& chain = co_await this_chain();
    const SteadyTime began = loop_.clock().steady_now();
    RetrySequence sequence({.purpose = purpose, .silent_wait = kSilentWait, .end = deadline});
    while (const auto step = sequence.next(loop_.clock().steady_now())) {
        if (chain.cancelled()) break;
        switch (step->action) {
            case RetrySequence::Action::kSend: {
                Delivery delivery = co_await transport.send(provider, call, deadline);
                if (delivery) co_return std::move(*delivery);
                break;
            }
            case RetrySequence::Action::kStartSilently:
                co_await transport.start_silently(provider, deadline);
                break;
            // no transport can bring an app to the foreground: may_wake is false
            case RetrySequence::Action::kWake: break;
            case RetrySequence::Action::kWait: {
                Waiter pause(loop_.timers());
                co_await pause.wait(loop_.clock().steady_now() + step->wait);
                break;
            }
        }
    }
    if (chain.cancelled())
        co_return Envelope::error(cetp::code::kInternalError, "the call was cancelled");
    if (loop_.clock().steady_now() >= deadline)
        co_return cetp::Envelope::no_answer_within(deadline - began);
    co_return Envelope::error(cetp::code::kInternalError, "provider did not answer");
}

}  // namespace crab::bridge

#include "apps/crab/bridge/one_call.hpp"

#include "apps/crab/bridge/transports.hpp"
#include "base/spawn.hpp"

namespace crab::app {

cetp::Envelope call_provider(const cetp::ProviderRecord& provider, const cetp::MethodCall& call, Milliseconds timeout) {
    const RealClock clock;
    BlockingPool blocking(1);
    net::EventLoop loop(clock);
    ProviderCaller caller(loop, make_transports(loop, blocking));
    std::optional<cetp::Envelope> answer;
    const auto on_end = [&](const std::exception_ptr& failure, std::optional<cetp::Envelope> envelope) {
        answer = failure ? cetp::Envelope::error(cetp::code::kInternalError, "the call broke") : *std::move(envelope);
        loop.stop();
    };
    auto task = caller.call(std::make_shared<cetp::ProviderRecord>(provider), call, cetp::Ladder::Purpose::kExecution, clock.steady_now() + timeout);
    spawn(loop.executor(), std::move(task), on_end);
    loop.run();
    return *std::move(answer);
}

}  // namespace crab::app

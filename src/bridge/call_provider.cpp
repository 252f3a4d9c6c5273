#include "bridge/call_provider.hpp"

#include "base/task/spawn.hpp"
#include "bridge/transports.hpp"

namespace crab::bridge {

cetp::Envelope call_provider(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                             Milliseconds timeout) {
    const RealClock clock;
    net::EventLoop loop(clock);
    auto [transports, bus] = make_transports(loop, {});
    ProviderCaller caller(loop, std::move(transports));
    const auto stop = [&loop, link = bus] { link->stop([&loop] { loop.stop(); }); };
    std::optional<cetp::Envelope> answer;
    const auto on_end = [&](const std::exception_ptr& failure,
                            std::optional<cetp::Envelope> envelope) {
        answer = failure ? cetp::Envelope::error(cetp::code::kInternalError, "the call broke")
                         : *std::move(envelope);
        loop.post(stop);
    };
    auto task = caller.call(std::make_shared<cetp::ProviderRecord>(provider), call,
                            cetp::RetrySequence::Purpose::kExecution, clock.steady_now() + timeout);
    loop.post([link = bus] { link->start(); });
    spawn(loop.executor(), std::move(task), on_end);
    loop.run();
    return *std::move(answer);
}

}  // namespace crab::bridge

#include "adapters/sw4rm/health_service.hpp"

#include "adapters/sw4rm/messages.hpp"
#include "base/scope_exit.hpp"
#include "net/codec/protobuf.hpp"

namespace crab::sw4rm {
namespace {

constexpr Milliseconds kHealthRequestTime{10'000};
enum class Serving : std::uint64_t { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

bool is_served(std::string_view name) {
    return name.empty() || name == "sw4rm.tool.ToolService" ||
           name == "sw4rm.connector.ConnectorService";
}

void write(net::GrpcCall& call, Serving status) {
    net::ProtobufWriter(call.begin_message()).number(1, static_cast<std::uint64_t>(status));
    call.end_message();
}

}  // namespace

void HealthService::say(net::GrpcCall& call) const {
    write(call, serving_ ? Serving::kServing : Serving::kNotServing);
}

Task<void> HealthService::check(net::GrpcCall call) {
    const Deadline due = call.loop().now() + kHealthRequestTime;
    const auto message = co_await call.read_only(due);
    if (!message) {
        call.finish(message.error());
        co_return;
    }
    const auto name = parse_name(*message);
    if (!name || !is_served(*name)) {
        call.finish(net::GrpcStatus::kNotFound, "there is no such service");
        co_return;
    }
    say(call);
    call.finish(net::GrpcStatus::kOk);
}

Task<void> HealthService::watch(net::GrpcCall call) {
    const Deadline due = call.loop().now() + kHealthRequestTime;
    const auto message = co_await call.read_only(due);
    if (!message) {
        call.finish(message.error());
        co_return;
    }
    const auto name = parse_name(*message);
    if (!name || !is_served(*name)) {
        write(call, Serving::kServiceUnknown);
    } else {
        watchers_.insert(&call);
        say(call);
    }
    const ScopeExit forget([&] { watchers_.erase(&call); });
    while (!call.gone() && !(co_await this_chain()).cancelled()) {
        const WaitEnd end = co_await call.stream().more(call.deadline());
        if (end == WaitEnd::kExpired) break;
    }
    call.finish(net::GrpcStatus::kCancelled, "the watch has ended");
}

void HealthService::drain() {
    serving_ = false;
    for (net::GrpcCall* const watcher : watchers_) say(*watcher);
}

}  // namespace crab::sw4rm

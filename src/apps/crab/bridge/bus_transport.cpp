#include "apps/crab/bridge/bus_transport.hpp"

#include <fmt/format.h>

namespace crab::app {

BusTransport::BusTransport(net::EventLoop& loop, BusLink::Events events)
    : session_(loop, cetp::Bus::kSession, std::move(events)), system_(loop, cetp::Bus::kSystem, {}) {}

void BusTransport::start() { session_.start(); }

void BusTransport::stop(std::function<void()> done) {
    session_.stop([this, done = std::move(done)] { system_.stop(done); });
}

BusLink& BusTransport::link_for(const cetp::ProviderRecord& provider) {
    if (provider.bus == cetp::Bus::kSession) return session_;
    if (!std::exchange(system_started_, true)) system_.start();
    return system_;
}

Task<Delivery> BusTransport::send(const cetp::ProviderRecord& provider, const cetp::MethodCall& call, Deadline deadline) {
    BusLink& link = link_for(provider);
    BusLink::Answer answer = co_await link.call(provider.bus_name, provider.object_path, call, deadline);
    if (!answer.owner.empty()) {
        std::erase_if(owners_, [&](const auto& entry) { return entry.second == provider.id; });
        owners_.emplace(answer.owner, provider.id);
    }
    if (call.method == cetp::kListTools && answer.delivery && answer.delivery->success) {
        const std::uint32_t version = co_await link.version(provider.bus_name, provider.object_path, deadline);
        if (version > 1) co_return cetp::Envelope::error(cetp::code::kInternalError, fmt::format("it speaks protocol version {}, and 1 is understood", version));
    }
    co_return std::move(answer.delivery);
}

Task<void> BusTransport::start_silently(const cetp::ProviderRecord& provider, Deadline deadline) {
    co_await link_for(provider).start_service(provider.bus_name, deadline);
}

std::string BusTransport::provider_of(const std::string& owner) const {
    const auto found = owners_.find(owner);
    return found != owners_.end() ? found->second : "";
}

}  // namespace crab::app

#include "bridge/bus_transport.hpp"

#include "bridge/bus_envelope.hpp"

#include <systemd/sd-bus.h>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

constexpr const char* kInterface = "com.clawseed.Cetp.Provider1";

BusCall to_bus_call(const cetp::ProviderRecord& provider, const cetp::MethodCall& call) {
    json::Value extras = json::Value::object();
    for (const auto& [key, value] : call.extras) extras.set(key, value);
    return {provider.bus_name, provider.object_path,
            kInterface,        "Call",
            "sa{sv}",          {json::Value(call.method), std::move(extras)}};
}

/// An envelope, or nothing when the call may be repeated; `waited` is how long it could take.
Delivery delivery_of(const BusReply& reply, std::chrono::nanoseconds waited) {
    if (reply.timed_out) return cetp::Envelope::no_answer_within(waited);
    if (reply.message == nullptr) return std::nullopt;
    return reply.good() ? read_bus_envelope(reply.message.get())
                        : bus_error_outcome(reply.error(), waited);
}

/// The property `Version`; 1 when it cannot be had.
Task<std::uint32_t> version_of(BusLink& link, const cetp::ProviderRecord& provider,
                               Deadline deadline) {
    BusCall get{provider.bus_name,
                provider.object_path,
                "org.freedesktop.DBus.Properties",
                "Get",
                "ss",
                {json::Value(kInterface), json::Value("Version")}};
    const BusReply reply = co_await link.ask(get, deadline);
    std::uint32_t version = 1;
    if (reply.good()) (void)sd_bus_message_read(reply.message.get(), "v", "u", &version);
    co_return version;
}

}  // namespace

BusTransport::BusTransport(net::EventLoop& loop, BusLink::Events events)
    : loop_(loop),
      session_(loop, BusKind::kSession, std::move(events)),
      system_(loop, BusKind::kSystem, {}) {}

void BusTransport::start() { session_.start(); }

void BusTransport::stop(std::function<void()> done) {
    session_.stop([this, done = std::move(done)] { system_.stop(done); });
}

BusLink& BusTransport::link_for(cetp::Bus bus) {
    if (bus == cetp::Bus::kSession) return session_;
    if (!std::exchange(system_started_, true)) system_.start();
    return system_;
}

Task<Delivery> BusTransport::send(const cetp::ProviderRecord& provider,
                                  const cetp::MethodCall& call, Deadline deadline) {
    BusLink& link = link_for(provider.bus);
    const SteadyTime began = loop_.clock().steady_now();
    const BusCall message = to_bus_call(provider, call);
    const BusReply reply = co_await link.ask(message, deadline);
    Delivery delivery = delivery_of(reply, deadline - began);
    if (reply.good()) {
        std::erase_if(owners_, [&](const auto& entry) { return entry.second == provider.id; });
        owners_.insert_or_assign(reply.sender(), provider.id);
    }
    if (call.method == cetp::kListTools && delivery && delivery->success) {
        const std::uint32_t version = co_await version_of(link, provider, deadline);
        if (version > 1)
            co_return cetp::Envelope::error(
                cetp::code::kInternalError,
                fmt::format("it speaks protocol version {}, and 1 is understood", version));
    }
    co_return std::move(delivery);
}

Task<void> BusTransport::start_silently(const cetp::ProviderRecord& provider, Deadline deadline) {
    co_await link_for(provider.bus).start_service(provider.bus_name, deadline);
}

std::string BusTransport::provider_of(const std::string& owner) const {
    const auto found = owners_.find(owner);
    return found != owners_.end() ? found->second : "";
}

}  // namespace crab::bridge

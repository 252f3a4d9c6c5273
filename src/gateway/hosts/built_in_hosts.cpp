#include "gateway/hosts/built_in_hosts.hpp"

#include "crypto/random.hpp"
#include "hosting/cron_sinks.hpp"
#include "hosting/hosted_cron.hpp"
#include "hosting/hosted_memory.hpp"
#include "store/stores.hpp"

#include <array>
#include <cstdint>

namespace crab::gateway {

std::span<const ConfigKey> BuiltInHosts::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("built_in_hosts", [](auto& c) -> auto& { return c.built_in_hosts; })};
    return kKeys;
}

/// In a fleet, each node looks at the jobs of all.
cron::CronPassOptions BuiltInHosts::cron_options() {
    constexpr std::size_t kBatch = 50;
    constexpr int kMostLag = 200;
    cron::CronPassOptions options;
    if (!events_.is_shared()) return options;
    options.batch = kBatch;
    options.look_every = std::chrono::seconds(1);
    std::array<std::uint8_t, 2> random{};
    crypto::fill_random(random);
    options.lag = Milliseconds((random[0] << 8 | random[1]) % kMostLag);
    return options;
}

Result<void> BuiltInHosts::start() {
    const config::BuiltInHostOptions& wanted = context_.config.built_in_hosts;
    if (wanted.memory) {
        auto opened = hosting::HostedMemory::open(context_.stores->open_memory(), context_.clock);
        if (!opened) return fail(std::move(opened.error()));
        hosts_.push_back(std::move(*opened));
    }
    if (wanted.cron) {
        auto opened = hosting::HostedCron::open(
            context_.stores->open_cron(), loops_.first(),
            std::make_unique<hosting::OutboxEventSink>(events_.outbox(), context_.clock),
            cron_options());
        if (!opened) return fail(std::move(opened.error()));
        hosts_.push_back(std::move(*opened));
    }
    for (const auto& host : hosts_) {
        if (auto registered = host->register_in(context_.registry); !registered) return registered;
    }
    return {};
}

void BuiltInHosts::begin() {
    loops_.first().post([this] {
        for (const auto& host : hosts_) host->start();
    });
}

void BuiltInHosts::stop(Deadline deadline) {
    for (const auto& host : hosts_) {
        loops_.finish(loops_.first(), deadline, [raw = host.get()](std::function<void()> done) {
            raw->stop(std::move(done));
        });
    }
}

}  // namespace crab::gateway

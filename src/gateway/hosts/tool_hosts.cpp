#include "gateway/hosts/tool_hosts.hpp"

#include "core/audit/metrics.hpp"
#include "core/call/tool_schemas.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {

Result<std::vector<rtp::RtpHost::Options>> make_tool_host_options(
    const config::GatewayConfig& config) {
    std::vector<rtp::RtpHost::Options> hosts;
    for (const config::ToolHostOptions& host : config.hosts) {
        if (!host.peer.empty())
            continue;  // those come and go with their pairing: peer_listener.cpp
        auto address = net::to_socket_address(net::Endpoint::unix_socket(host.unix_socket));
        if (!address)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("hosts: {}: {}", host.name, address.error().message));
        rtp::RtpHost::Options options;
        options.name = host.name;
        options.authority.server.addresses = {*address};
        // docs/protocols/rtp.md, section 1
        options.max_reply_bytes =
            std::min(config.limits.result_bytes, rtp::RtpHost::Options{}.max_reply_bytes);
        hosts.push_back(std::move(options));
    }
    return hosts;
}

std::span<const ConfigKey> ToolHosts::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("hosts", [](auto& c) -> auto& { return c.hosts; })};
    return kKeys;
}

Result<void> ToolHosts::start() {
    auto options = make_tool_host_options(context_.config);
    if (!options) return fail(std::move(options.error()));
    directory_ = std::make_unique<rtp::HostDirectory>(
        rtp::HostDirectory::Services{.registry = context_.registry,
                                     .schemas = workers_.schemas(),
                                     .home = loops_.first(),
                                     .loops = loops_.all()},
        std::move(*options));
    return {};
}

void ToolHosts::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        const auto hosts = directory_->status();
        const auto answering = std::ranges::count_if(hosts, &rtp::HostDirectory::Status::answers);
        core::append_metric(out, "crab_tool_hosts", "gauge", "Tool hosts that are configured.",
                            static_cast<double>(hosts.size()));
        core::append_metric(out, "crab_tool_hosts_answering", "gauge",
                            "Tool hosts that answer now.", static_cast<double>(answering));
        core::append_metric(out, "crab_tool_schemas", "gauge", "Compiled schemas that tools share.",
                            static_cast<double>(core::shared_schemas()));
    });
}

void ToolHosts::stop(Deadline) {
    loops_.run();
    directory_->stop();
}

}  // namespace crab::gateway

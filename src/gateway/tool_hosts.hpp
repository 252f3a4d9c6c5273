#pragma once

#include "adapters/rtp/hosts/host_directory.hpp"
#include "config/gateway_config.hpp"

#include <string>
#include <vector>

namespace crab::gateway {

/// The configured tool hosts in the words of the RTP adapter. Errors: kInvalidArgs naming the host
/// whose socket cannot be used.
Result<std::vector<rtp::RtpHost::Options>> make_tool_host_options(
    const config::GatewayConfig& config);

/// `crab_tool_hosts` and `crab_tool_hosts_answering`.
void append_host_metrics(std::string& out, const std::vector<rtp::HostDirectory::Status>& hosts);

}  // namespace crab::gateway

#pragma once

#include "adapters/rtp/hosts/host_directory.hpp"
#include "adapters/rtp/hosts/peer_route.hpp"

#include <set>
#include <string>

namespace crab::rtp {

/// Makes every active peer of type `tool_host` a tool host of the gateway while it is paired and
/// trusted; its tools are `<component_id>__<tool>`. Source: docs/protocols/rtp.md, section 4.
class PeerHosts {
public:
    struct Options {
        /// Hosts that the configuration names; listed even before they are paired
        std::set<trust::PeerName> always;
        std::size_t max_reply_bytes = std::size_t{8} << 20;
    };

    /// Subscribes to changes of `route.peers`; all arguments must outlive this.
    PeerHosts(HostDirectory& hosts, PeerRoute::Services route, Options options);

    /// Adds the peers that are already paired.
    void start();

private:
    void on_change(const trust::PeerChange& change);
    void add(const trust::PeerName& name, const trust::PeerRecord* peer);

    HostDirectory& hosts_;
    const PeerRoute::Services route_;
    const Options options_;
};

}  // namespace crab::rtp

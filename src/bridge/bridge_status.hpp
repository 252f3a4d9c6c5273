#pragma once

#include "base/clock.hpp"
#include "bridge/provider_directory.hpp"
#include "json/value.hpp"

#include <map>
#include <string>

namespace crab::bridge {

/// The status file (mode 0600) that a running bridge writes for `crab bridge status`.
struct BridgeStatus {
    struct Link {
        bool connected = false;
        std::string message{};  ///< why it is not
        std::string device{};   ///< the name in `<device>__<tool>`
        std::size_t tools = 0;  ///< registered
    };
    /// A provider's request that the user acts; removed by its next success.
    struct UserAction {
        std::string tool{}, message{}, hint{}, intent{};
        SystemTime at{};
    };
    Link link{};
    std::map<std::string, UserAction> user_actions{};  ///< by provider id

    /// `{"pid","link":{},"providers":[…],"diagnostics":[…]}`
    json::Value to_json(const ProviderDirectory& directory) const;
};

}  // namespace crab::bridge

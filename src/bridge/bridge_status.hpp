#pragma once

#include "base/clock.hpp"
#include "bridge/provider_directory.hpp"
#include "json/value.hpp"

#include <map>
#include <string>

namespace crab::bridge {

/// What a running bridge tells `crab bridge status`, in a file of mode 0600.
struct BridgeStatus {
    struct Link {
        bool connected = false;
        std::string message{};  ///< why it is not
        std::string device{};   ///< the name in `<device>__<tool>`
        std::size_t tools = 0;  ///< registered
    };
    /// A provider that wants the person to act; gone with its next success.
    struct Wish {
        std::string tool{}, message{}, hint{}, intent{};
        SystemTime at{};
    };
    Link link{};
    std::map<std::string, Wish> wishes{};  ///< by provider id

    /// `{"pid","link":{},"providers":[…],"diagnostics":[…]}`
    json::Value to_json(const ProviderDirectory& directory) const;
};

}  // namespace crab::bridge

#pragma once

#include <string>
#include <vector>

namespace crab::crypto {

/// The subject alternative names of a certificate or request (RFC 5280, section 4.2.1.6), in their
/// order.
struct AltNames {
    std::vector<std::string> uris;
    std::vector<std::string> dns_names;
    std::vector<std::string> ip_addresses;  ///< in their usual text form
    bool others = false;                    ///< names of other types were present; never written

    friend bool operator==(const AltNames&, const AltNames&) = default;
};

}  // namespace crab::crypto

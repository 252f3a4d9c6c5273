#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crab::crypto {

/// An ECDSA signature as OpenSSL wants it, of `pair`: r and s, each of `half` bytes. Empty when it
/// has another length.
std::string ecdsa_to_der(std::string_view pair, std::size_t half);
/// The inverse. `der` comes from OpenSSL; throws when it is none.
std::string ecdsa_from_der(std::string_view der, std::size_t half);

}  // namespace crab::crypto

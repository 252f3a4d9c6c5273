#pragma once

#include <cstdint>
#include <string_view>

namespace crab::net {

/// Gives the body of a request piece by piece, on the loop's thread, as the other side takes it. It
/// must not end the exchange from inside these functions.
class HttpBodySource {
public:
    virtual ~HttpBodySource() = default;
    /// Of the whole body, in bytes.
    virtual std::uint64_t size() const = 0;
    /// The next piece, valid until the next call; what goes beyond size() is not sent. Empty: there
    /// is no more, and the exchange ends with kCancelled.
    virtual std::string_view next() = 0;
};

}  // namespace crab::net

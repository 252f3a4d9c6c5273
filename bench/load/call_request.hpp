#pragma once

#include "load/address.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::bench {

/// A whole HTTP/1.1 request, written once; only the digits of its call id change from call to call.
class CallRequest {
public:
    /// `POST /v1/tools/call` of `tool` with `args`; without a token there is no Authorization
    /// header.
    CallRequest(const Address& to, const std::string& token, const std::string& tool,
                std::string_view args);
    /// `GET path` with the same headers and no body.
    static CallRequest get(const Address& to, const std::string& token, const std::string& path);

    /// Appends the request with a call id that no other call of this machine had.
    void append_to(std::string& out);

private:
    CallRequest() = default;
    std::string text_;
    std::size_t digits_at_ = 0;  // 0: no call id
};

}  // namespace crab::bench

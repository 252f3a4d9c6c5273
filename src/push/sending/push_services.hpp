#pragma once

#include "base/result.hpp"
#include "net/codec/http_url.hpp"

#include <string_view>
#include <vector>

namespace crab::push {

/// Which push services are asked: any at a public address over `https`, and besides those that the
/// operator names, wherever they are (`http` at a loopback address only).
class PushServices {
public:
    PushServices() = default;
    explicit PushServices(std::vector<net::HttpUrl> named) : named_(std::move(named)) {}

    /// The endpoint's URL. Errors: kInvalidArgs; kForbidden for one that is not asked.
    Result<net::HttpUrl> check(std::string_view endpoint) const;
    bool is_named(const net::HttpUrl& url) const;

private:
    std::vector<net::HttpUrl> named_;
};

}  // namespace crab::push

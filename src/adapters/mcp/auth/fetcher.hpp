#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "net/http/http_service.hpp"

#include <cstdint>
#include <string>

namespace crab::mcp {

/// Which servers a URL may lead to.
enum class FetchReach : std::uint8_t {
    kPublic,  ///< `https`, at a public address
    /// That, and besides it `http` and `https` at a loopback address: what a loopback server names
    kLoopbackToo,
    /// `https` at any address, `http` at a loopback one: for a server that the operator named in
    /// the configuration, and for nothing that another server says
    kConfigured,
};

/// A request for a small document; a POST when it has a content type.
struct FetchRequest {
    std::string url;
    FetchReach reach = FetchReach::kPublic;
    net::OwnedHeaders headers{};
    std::string content_type{};
    std::string body{};
    Deadline deadline = kNoDeadline;  ///< besides the limit of each fetch
};

struct FetchReply {
    int status = 0;
    std::string body;
    bool ok() const { return status >= 200 && status < 300; }
};

/// Gets metadata and tokens from other servers. On one event loop.
class Fetcher {
public:
    virtual ~Fetcher() = default;
    /// Any status but a redirect is a reply. Errors: kForbidden for a URL or address that must not
    /// be asked, and for a redirect; kOversize; kTimeout, kUnavailable, kCancelled, kInternal.
    virtual Task<Result<FetchReply>> fetch(FetchRequest request) = 0;
};

}  // namespace crab::mcp

#pragma once

#include "net/codec/http_head.hpp"
#include "net/http/route_match.hpp"
#include "net/loop/peer_address.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::net {

class Connection;

/// One complete request. Views stay valid until its exchange has ended, across co_await too.
struct HttpRequest {
    RequestHead head;
    std::string_view body;  ///< whole; EventLoop::kSlack bytes behind it are readable
    PeerAddress peer;
    bool tls = false;
    Connection* connection = nullptr;  ///< it came on; null once the caller is gone
    RouteMatch match{};  ///< HttpService::match(): which route it means

    std::string_view method() const { return head.method; }
    std::string_view target() const { return head.target; }
    std::string_view path() const { return head.path; }    ///< percent-encoded
    std::string_view query() const { return head.query; }  ///< without `?`, encoded
    /// Value of the first field of that lower-case name.
    std::optional<std::string_view> find(std::string_view lower_case_name) const {
        return head.headers.find(lower_case_name);
    }
    /// The certificate that the caller showed in TLS, DER; empty when none, or when the caller is
    /// gone.
    std::string certificate_der() const;
    /// Of the listener that it came to; 0 for a Unix socket, and when the caller is gone.
    std::uint16_t local_port() const;
};

}  // namespace crab::net

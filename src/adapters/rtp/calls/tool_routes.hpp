#pragma once

#include "base/error.hpp"
#include "core/call/principal.hpp"
#include "net/http/http_exchange.hpp"

#include <string>
#include <string_view>

namespace crab::rtp {

/// What all listeners that serve tools have in common. Source: docs/protocols/rtp.md, section 1.

/// Answers a health check: 200, or 503 once it is stopping; 405 for methods other than GET.
/// `method` is the request's, as the listener wants HEAD to be read.
void serve_health(net::HttpExchange& exchange, std::string_view method, bool stopping);
/// `/v1/tools`, `/v1/tools/call` or `/v1/tools/cancel`.
bool is_tools_path(std::string_view path);
/// Whether the request has the method that its tools path wants; has answered with 405 otherwise.
bool method_fits(net::HttpExchange& exchange, std::string_view path);
/// Answers a request for a tools path that goes no further, in the response schema for a call, else
/// as other errors are; `path` is without any prefix.
void refuse_request(net::HttpExchange& exchange, std::string_view path, int status,
                    const Error& error, std::initializer_list<net::HttpHeader> headers = {});
/// The body of that answer.
void append_refusal_body(std::string& out, std::string_view path, const Error& error);
void respond_unknown_path(net::HttpExchange& exchange);
/// The HTTP layer's refusal (size, time, room) of a request for a path of the protocol: in the
/// response schema for a call, with the protocol's codes for the others; false for other paths.
bool append_refusal(const net::HttpRequest* request, int status, std::string_view reason,
                    std::string& body);
/// The same by the path below a listener's prefix; empty for a request that could not be read.
bool append_refusal(std::string_view path, int status, std::string_view reason, std::string& body);
/// Whether the user behind a local socket is the one who runs this process, or root. The socket's
/// mode keeps others out; this holds even if somebody widens it.
bool is_own_user(const net::PeerAddress& peer);

}  // namespace crab::rtp

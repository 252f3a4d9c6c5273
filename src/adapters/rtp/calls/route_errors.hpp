#pragma once

#include "base/error.hpp"
#include "net/http/http_request.hpp"
#include "net/http/route_table.hpp"

#include <string>
#include <string_view>

/// Error bodies of the protocol's routes for requests that no handler has seen. Source:
/// docs/protocols/rtp.md, sections 1 and 2.
namespace crab::rtp {

/// `{"error","code"}` with the protocol's codes.
void append_route_error(std::string& body, const Error& error);
/// The same in the response schema of a call.
void append_call_error(std::string& body, const Error& error);

/// The body for a request to a path of the protocol that the HTTP layer refuses (a broken head,
/// size, timeout, an answer that is missing), whether or not `routes`, with which it was matched,
/// has the path; false for other paths. `request` null: not even its path could be read.
bool append_refusal(const net::RouteTable& routes, const net::HttpRequest* request, int status,
                    std::string_view reason, std::string& body);

}  // namespace crab::rtp

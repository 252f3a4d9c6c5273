#pragma once

#include "base/error.hpp"
#include "net/http/route_table.hpp"

#include <string>
#include <string_view>

/// How errors look that routes of the protocol answer before their handlers have the request.
/// Source: docs/protocols/rtp.md, sections 1 and 2.
namespace crab::rtp {

/// `{"error","code"}` with the protocol's codes.
void append_route_error(std::string& body, const Error& error);
/// The same in the response schema of a call.
void append_call_error(std::string& body, const Error& error);

/// The HTTP layer's refusal (size, time, room) of a request for a path of the protocol, whether or
/// not the listener's `routes` have it; false for other paths. `request` null: it could not be
/// read.
bool append_refusal(const net::RouteTable& routes, const net::HttpRequest* request, int status,
                    std::string_view reason, std::string& body);

}  // namespace crab::rtp

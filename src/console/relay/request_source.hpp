#pragma once

#include "base/error.hpp"
#include "net/http/http_request.hpp"

#include <optional>
#include <string_view>

namespace crab::console {

/// A cookie's value (RFC 6265, section 5.4); empty when it is not there, or more than once.
std::string_view cookie_of(const net::HttpRequest& request, std::string_view name);
/// The one field of that name; empty when it is not there, or more than once.
std::string_view only_field(const net::HttpRequest& request, std::string_view name);
/// Whether it is the handshake of a WebSocket, or wants to be.
bool asks_for_upgrade(const net::HttpRequest& request);

/// The console's paths below `root`, which is `/console/` and what may stand before it.
bool is_api(const net::HttpRequest& request, std::string_view root);
bool is_session(const net::HttpRequest& request, std::string_view root);
/// Path and query at the gateway of a request that is_api().
std::string api_target(const net::HttpRequest& request, std::string_view root);

/// Why a request, whose Host is good, is not the page's own at `origin`, by its head alone: another
/// origin or site, a write that is no JSON. Nothing: it may be. Forms and images of other pages get
/// no further, whatever cookies their browser adds.
std::optional<Error> refuse_source(const net::HttpRequest& request, std::string_view origin,
                                   std::string_view root);

}  // namespace crab::console

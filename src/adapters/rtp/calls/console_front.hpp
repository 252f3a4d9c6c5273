#pragma once

#include "net/http/http_request.hpp"

#include <string_view>

namespace crab::rtp {

/// How a request came in, for audit records: `console` when a door of the console passed it on,
/// which only somebody behind a local socket may say of a request (`Crab-Front: console`); else
/// `listener`.
inline std::string_view front_of(const net::HttpRequest& request, std::string_view listener) {
    const bool console =
        request.peer.is_unix() && request.find("crab-front") == std::string_view("console");
    return console ? std::string_view("console") : listener;
}

}  // namespace crab::rtp

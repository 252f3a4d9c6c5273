#pragma once

#include "core/call/principal.hpp"
#include "net/http/http_request.hpp"

#include <string_view>

namespace crab::rtp {

/// How a request came in, for audit records: `console` when `crab console` passed it on, which only
/// the operator behind the admin socket may say of a request (`Crab-Front: console`); else
/// `listener`.
inline std::string_view front_of(const net::HttpRequest& request, const core::Principal& principal,
                                 std::string_view listener) {
    const bool console = principal.proof == core::Proof::kLocalSocket &&
                         request.find("crab-front") == std::string_view("console");
    return console ? std::string_view("console") : listener;
}

}  // namespace crab::rtp

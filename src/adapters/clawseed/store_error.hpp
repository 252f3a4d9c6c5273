#pragma once

#include "base/error.hpp"
#include "net/http/http_exchange.hpp"

namespace crab::clawseed {

/// Answers with 503: what is stored cannot be read or written now.
inline void respond_store_error(net::HttpExchange& exchange, const Error& error) {
    exchange.respond_error(503, token_of(error.code), error.message);
}

/// Answers with 429: Hub::requests() has no place for another one of this principal.
inline void respond_too_many(net::HttpExchange& exchange) {
    exchange.respond_error(429, token_of(ErrorCode::kRateLimited),
                           "too many of your requests about chat sessions run; wait for their "
                           "answers");
}

}  // namespace crab::clawseed

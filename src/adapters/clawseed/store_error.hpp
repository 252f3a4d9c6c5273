#pragma once

#include "base/error.hpp"
#include "net/http/http_exchange.hpp"

namespace crab::clawseed {

/// Answers with 503: what is stored cannot be read or written now.
inline void respond_store_error(net::HttpExchange& exchange, const Error& error) {
    exchange.respond_error(503, token_of(error.code), error.message);
}

}  // namespace crab::clawseed

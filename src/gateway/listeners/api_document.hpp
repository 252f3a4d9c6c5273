#pragma once

#include "net/http/routed_service.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace crab::gateway {

/// How callers of a listener prove who they are.
enum class CallerProof : std::uint8_t { kBearer, kLocalUser, kCertificate };

/// What a document says of a listener beside its routes.
struct ApiDescription {
    std::string_view title, text;
    CallerProof proof = CallerProof::kBearer;
    std::size_t body_bytes = 0;  ///< of a route that says nothing
    std::size_t guest_bytes = 0;  ///< of a route for guests
};

/// The OpenAPI 3.1 document of a listener's routes, as JSON. Schemas come from spec/http. Throws
/// std::logic_error for a route that names a schema that is not there.
std::string api_document(const net::RouteTable& routes, const ApiDescription& about);

/// Adds `GET /openapi.json`, which answers with that document; it is made when somebody asks for
/// it first. On one event loop. `routes` lives as long as its handlers.
template <class Principal>
void add_api_document(net::Routes<Principal>& routes, net::Caller who,
                      const ApiDescription& about) {
    auto cached = std::make_shared<std::string>();
    routes.add({.path = "/openapi.json",
                .who = who,
                .summary = "This document: all routes of this listener, as OpenAPI 3.1",
                .head = true,
                .answers = {{200, "openapi"}}},
               [&routes, about, cached](const typename net::Routes<Principal>::Request& request) {
                   if (cached->empty()) *cached = api_document(routes.table(), about);
                   request.exchange.respond(200, "application/json", *cached);
               });
}

}  // namespace crab::gateway

#pragma once

#include "net/http/http_exchange.hpp"
#include "net/http/route_table.hpp"

#include <initializer_list>

/// Answers common to all listeners with a route table.
namespace crab::net {

/// 404.
void respond_unknown_path(HttpExchange& exchange);
/// A refusal in the form of the route's own errors; `route` null: the plain one.
void refuse(HttpExchange& exchange, const Route* route, int status, const Error& error,
            std::initializer_list<HttpHeader> headers = {});
/// The body of that.
void append_route_error(std::string& body, const Route* route, const Error& error);
/// Whether the match is a route; otherwise answers with 404, 204 and Allow (OPTIONS), or 405 and
/// Allow.
bool found_or_refused(HttpExchange& exchange, const RouteMatch& match);
/// `{"ok":true}`, or 503 and false once it is stopping.
void respond_health(HttpExchange& exchange, bool stopping);

}  // namespace crab::net

#include "adapters/rtp/calls/route_errors.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "net/http/http_error.hpp"

namespace crab::rtp {
namespace {

/// A 500 stands for an answer that is missing: unlike 503 it does not promise that nothing was run.
ErrorCode code_of_refusal(int status) {
    switch (status) {
        case 429: return ErrorCode::kRateLimited;
        case 500: return ErrorCode::kInternal;
        case 503: return ErrorCode::kUnavailable;
        default: return ErrorCode::kInvalidArgs;
    }
}

}  // namespace

void append_route_error(std::string& body, const Error& error) {
    net::append_error_body(body, wire_code(error.code), error.message);
}

void append_call_error(std::string& body, const Error& error) {
    const core::Outcome outcome = fail(error);
    append_call_response(body, "", "", 0, outcome);
}

bool append_refusal(const net::RouteTable& routes, const net::HttpRequest* request, int status,
                    std::string_view reason, std::string& body) {
    if (request == nullptr) return false;
    const net::Route* const route = request->match.route;
    const bool own_form = route != nullptr && route->errors != nullptr;
    if (!own_form && !request->path().starts_with(routes.prefix() + "/v1/")) return false;
    const auto append = own_form ? route->errors : append_route_error;
    append(body, {.code = code_of_refusal(status), .message = std::string(reason)});
    return true;
}

}  // namespace crab::rtp

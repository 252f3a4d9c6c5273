#pragma once

#include "base/error.hpp"
#include "net/http/body_limits.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::net {

/// The methods that routes have; HEAD is GET without the body (Route::head).
enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete };
std::string_view name_of(Method method);

/// Who may use a route. The listener authenticates callers: by a token, a certificate, or the user
/// behind a local socket.
enum class Caller : std::uint8_t {
    kAnyone,    ///< no credential needed; Host and Origin are not checked
    /// No credential needed; Host and Origin are checked; small bodies, such as a pairing code
    kGuest,
    kProven,   ///< one with a credential
    kSession,  ///< a browser that is signed in to the console, by both halves of its session
    kScraper,  ///< one that may read metrics; for others the path does not exist
};

/// When a session of the console needs a key that was proven just now: a stolen session does much
/// harm with what changes something. Who does not say stays on the safe side.
enum class FreshProof : std::uint8_t {
    kForChanges,  ///< for everything but GET
    kNever,       ///< it narrows, asks, or is everyday work
    kForOperators,  ///< when the body may speak of an operator's role
    kForLasting,    ///< when the body may speak of a decision for ever
};

/// Appends the body of an error in the form that a route's answers have.
using ErrorWriter = void (*)(std::string& body, const Error& error);

/// What a route may answer, for the documents that are made from it.
struct RouteAnswer {
    int status = 200;
    std::string_view schema;  ///< in spec/http; empty: none is written
    std::string_view content_type = "application/json";  ///< empty: an answer without a body
};

/// A parameter of the query or a header field, for the documents.
struct RouteParameter {
    std::string_view name, meaning;
};

/// The declaration of one route: matching, access, body limits, documentation. Texts are literals.
struct Route {
    Method method = Method::kGet;
    /// Literal segments, `{name}` for one segment of any text, `{name...}` at the end for the rest,
    /// which may be empty: `/v1/leases/{lease_id}/renew`.
    std::string_view path;
    Caller who = Caller::kProven;
    FreshProof proof = FreshProof::kForChanges;
    /// Why a request that is no GET leaves no record of a change; empty: it does
    std::string_view unrecorded{};
    std::string_view summary;  ///< one sentence for people
    std::string_view action{};  ///< the action for listeners with a policy
    bool head = false;  ///< HEAD is answered like GET
    bool not_while_stopping = false;  ///< 503 from when the listener stops
    bool websocket = false;  ///< opened by an upgrade
    bool streams_body = false;  ///< HttpService::streams_body()
    std::optional<RequestBodyLimits> body{};  ///< nothing: what the listener allows
    /// The same where a reload may change it; asked for each request
    std::function<RequestBodyLimits()> body_now{};
    /// Named in the challenge of a 401 (RFC 6750, section 3), which then also says that a token
    /// which came is not valid; empty: the challenge is `Bearer` alone
    std::string_view realm{};
    ErrorWriter errors = nullptr;  ///< null: `{"error":message,"code":token}`
    std::vector<RouteParameter> query{};
    std::vector<RouteParameter> headers{};  ///< that it reads, besides those that all do
    std::string_view request{};  ///< schema of the body, in spec/http; empty: see request_type
    /// Of a body that is no JSON, `*/*`; empty, and no `request`: there is none
    std::string_view request_type{};
    std::vector<RouteAnswer> answers{};
    /// Statuses of its own refusals; those that follow from the rest of the declaration come to
    /// them
    std::vector<int> refusals{};

    /// What a request's body may cost here; `otherwise` when the route does not say.
    RequestBodyLimits limits(const RequestBodyLimits& otherwise) const {
        return body_now ? body_now() : body.value_or(otherwise);
    }
};

}  // namespace crab::net

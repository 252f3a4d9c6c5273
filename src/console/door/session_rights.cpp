#include "console/door/session_rights.hpp"

#include "json/parser.hpp"

#include <algorithm>
#include <initializer_list>

namespace crab::console {
namespace {

constexpr std::string_view kBridgesOwn = "/v1/admin/console/sessions";

constexpr std::string_view kDecision = "approval_decision";

/// Looked for in the text itself, so that no reading of JSON can differ from that of the route: a
/// text with an escape may say anything.
bool may_say(std::string_view body, std::initializer_list<std::string_view> words) {
    const auto holds = [&](std::string_view word) { return body.contains(word); };
    return holds("\\") || std::ranges::any_of(words, holds);
}

}  // namespace

std::optional<Error> SessionRights::refuse_unproven(const ConsoleSession& session, SteadyTime now) {
    if (session.proven_at && now < *session.proven_at + kProofLasts) return std::nullopt;
    return Error{.code = ErrorCode::kAuthRequired,
                 .message =
                     "this needs a key or passkey that was proven in this session within 5 "
                     "minutes; a token is not enough. Without one, do it where the gateway runs, "
                     "with `crab`"};
}

SessionRights::SessionRights(const net::RouteTable& gateway) : gateway_(gateway) {
    using net::Method;
    const auto add = [this](Method method, std::string_view path) {
        of_callers_.add({.method = method, .path = path, .summary = "as that of the gateway"});
    };
    for (const std::string_view path :
         {"/ws/chat", "/api/agents", "/api/sessions", "/api/sessions/running",
          "/api/sessions/{id}/messages", "/api/sessions/{id}/state",
          "/api/sessions/{id}/attachments/{picture}"})
        add(Method::kGet, path);
    add(Method::kPut, "/api/sessions/{id}");
    add(Method::kDelete, "/api/sessions/{id}");
    add(Method::kPost, "/api/sessions/{id}/abort");
    add(Method::kPost, "/api/sessions/{id}/attachments");
}

bool SessionRights::needs_proof(std::string_view method, std::string_view path,
                                std::string_view body) const {
    const net::RouteMatch match = gateway_.find(method, path);
    if (!match.found()) return method != "GET" && method != "HEAD";
    switch (match.route->proof) {
        case net::FreshProof::kForChanges: return match.route->method != net::Method::kGet;
        case net::FreshProof::kNever: return false;
        case net::FreshProof::kForOperators: return may_say(body, {"operator", "cli_admin"});
        case net::FreshProof::kForLasting: return may_say(body, {"always"});
    }
    return true;
}

std::optional<Error> SessionRights::refuse(const ConsoleSession& session, std::string_view method,
                                           std::string_view path, std::string_view body,
                                           SteadyTime now) const {
    if (!is_operator(session)) {
        if (of_callers_.find(method, path).found()) return std::nullopt;
        return Error{.code = ErrorCode::kForbidden,
                     .message =
                         "this is for operators; with the role caller the console is for "
                         "Chat and its sessions"};
    }
    if (path == kBridgesOwn)
        return Error{.code = ErrorCode::kForbidden,
                     .message = "only `crab console` tells of its sessions there"};
    if (!needs_proof(method, path, body)) return std::nullopt;
    return refuse_unproven(session, now);
}

std::optional<Error> SessionRights::refuse_frame(const ConsoleSession& session,
                                                 std::string_view frame, SteadyTime now) const {
    if (!may_say(frame, {kDecision})) return std::nullopt;  // most say less
    json::Parser parser;
    const auto read = parser.parse(frame);
    if (!read) return refuse_unproven(session, now);  // the gateway may read what this does not
    if (json::get_string(read->element(), "type") != kDecision) return std::nullopt;
    const auto scope = json::get_string(read->element(), "scope");
    return scope == "always" ? refuse_unproven(session, now) : std::nullopt;
}

}  // namespace crab::console

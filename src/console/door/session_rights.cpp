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

SessionRights::SessionRights() {
    using net::Method;
    for (const std::string_view path :
         {"/ws/chat", "/api/agents", "/api/sessions", "/api/sessions/running",
          "/api/sessions/{id}/messages", "/api/sessions/{id}/state",
          "/api/sessions/{id}/attachments/{picture}"})
        add(of_callers_, Method::kGet, path);
    add(of_callers_, Method::kPut, "/api/sessions/{id}");
    add(of_callers_, Method::kDelete, "/api/sessions/{id}");
    add(of_callers_, Method::kPost, "/api/sessions/{id}/abort");
    add(of_callers_, Method::kPost, "/api/sessions/{id}/attachments");

    add_heavy(Method::kPost, "/v1/admin/reload", Weight::kAlways);
    add_heavy(Method::kPatch, "/v1/admin/log", Weight::kAlways);  // a thief would log less
    add_heavy(Method::kPost, "/v1/admin/devices/revoke", Weight::kAlways);
    add_heavy(Method::kPost, "/v1/peers/{type}/{id}/revoke", Weight::kAlways);
    // One that was switched off may come back by it, and its tools be asked for elsewhere.
    add_heavy(Method::kPatch, "/v1/peers/{type}/{id}", Weight::kAlways);
    add_heavy(Method::kDelete, "/v1/leases/{id}", Weight::kAlways);
    add_heavy(Method::kPost, "/v1/admin/devices/pair", Weight::kOperatorRole);
    add_heavy(Method::kPost, "/v1/pairings", Weight::kAlways);
    // Servers may be commands that the gateway runs.
    add_heavy(Method::kPost, "/v1/mcp/servers", Weight::kAlways);
    add_heavy(Method::kPut, "/v1/mcp/servers/{name}", Weight::kAlways);
    add_heavy(Method::kPost, "/v1/mcp/servers/{name}/approve", Weight::kAlways);
    add_heavy(Method::kPost, "/v1/admin/approvals/{id}", Weight::kForEver);
    // It outlives the session: a thief would go on being told who calls what.
    add_heavy(Method::kPost, "/v1/admin/push/subscriptions", Weight::kAlways);
}

void SessionRights::add(net::RouteTable& table, net::Method method, std::string_view path) {
    table.add({.method = method, .path = path, .summary = "as that of the gateway"});
}

void SessionRights::add_heavy(net::Method method, std::string_view path, Weight weight) {
    add(heavy_, method, path);
    weights_.push_back(weight);
}

bool SessionRights::is_heavy(std::string_view method, std::string_view path,
                             std::string_view body) const {
    const net::RouteMatch match = heavy_.find(method, path);
    if (!match.found()) return false;
    switch (weights_[match.index]) {
        case Weight::kAlways: return true;
        case Weight::kOperatorRole: return may_say(body, {"operator", "cli_admin"});
        case Weight::kForEver: return may_say(body, {"always"});
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
    if (!is_heavy(method, path, body)) return std::nullopt;
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

#include "admin/console_api.hpp"

#include "json/value.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace crab::admin {
namespace {

struct SessionChange {
    std::string_view word, kind;
};
constexpr std::array<SessionChange, 3> kChanges{{{"opened", "console.session.opened"},
                                                 {"ended", "console.session.ended"},
                                                 {"refused", "console.session.refused"}}};
constexpr std::array<std::string_view, 4> kEnds{"signed_out", "expired", "crowded_out", "stopped"};
constexpr double kBurst = 200;  // a console has 64 sessions at most

}  // namespace

void ConsoleApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/console/sessions",
                .unrecorded = "is a record: console.session.*",
                .summary = "Record that a session of `crab console` began or ended",
                .request = "console_session_change",
                .answers = {{200, "console_session_recorded"}},
                .refusals = {400, 429}},
               [this](const net::Routes<core::PrincipalRef>::Request& request) {
                   record(request.exchange, *request.principal);
               });
}

void ConsoleApi::record(net::HttpExchange& exchange, const core::Principal& principal) {
    const auto body = json::Value::parse(exchange.request().body, {.max_bytes = 1024});
    const std::string* const word = body ? body->find_string("change") : nullptr;
    const std::string* const why = body ? body->find_string("why") : nullptr;
    const json::Value* const number = body ? body->find("session") : nullptr;
    const auto session = number != nullptr ? number->as_int64() : std::nullopt;
    const auto* const change =
        std::ranges::find(kChanges, word != nullptr ? *word : "", &SessionChange::word);
    const bool known = why == nullptr || std::ranges::find(kEnds, *why) != kEnds.end();
    if (change == kChanges.end() || !known || !session || *session < 0)
        return exchange.respond_error(
            400, "INVALID_ARGS",
            "a change is opened, ended or refused, of a session's number; why it ended is "
            "signed_out, expired, crowded_out or stopped");
    const bool recorded = audit_.append_event(
        {.kind = change->kind, .by = principal.id, .burst = kBurst}, [&](json::Writer& writer) {
            writer.key("principal").string_lossy(principal.id);
            writer.key("front").string("console").key("session").integer(*session);
            if (why != nullptr) writer.key("why").string(*why);
        });
    if (!recorded)
        return exchange.respond_error(429, "RATE_LIMITED",
                                      "the audit log takes no more of these now");
    exchange.respond(200, net::kJsonType, R"({"recorded":true})");
}

}  // namespace crab::admin

#include "gateway/listeners/change_records.hpp"

#include "adapters/rtp/calls/console_front.hpp"
#include "base/cut_text.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/codec/url.hpp"

#include <array>
#include <string>
#include <string_view>

namespace crab::gateway {
namespace {

/// Members of bodies and queries that say what a change is about; none is a secret.
constexpr std::array<std::string_view, 20> kNaming{
    "device", "token_id", "name",   "tool",    "call_id",  "id",        "decision",
    "scope",  "status",   "reason", "owner",   "agent_id", "tenant_id", "session_id",
    "who",    "worktree", "action", "peer_id", "part",     "level"};
constexpr std::size_t kMostOfBody = std::size_t{64} << 10;
constexpr std::size_t kMostOfText = 128;
constexpr std::size_t kMostOfPath = 512;

void append_naming(json::Writer& writer, std::string_view name, std::string_view value) {
    writer.key(name).string_lossy(cut_text(value, kMostOfText));
}

void append_about(json::Writer& writer, const net::HttpRequest& request) {
    json::Parser parser;
    const bool small = request.body.size() <= kMostOfBody;
    const auto body = parser.parse(small ? request.body : std::string_view());
    writer.key("about").begin_object();
    for (const std::string_view name : kNaming) {
        const auto in_body = body ? json::get_string(body->element(), name) : std::nullopt;
        if (in_body) {
            append_naming(writer, name, *in_body);
        } else if (const auto in_query = net::find_query(request.query(), name)) {
            append_naming(writer, name, *in_query);
        }
    }
    writer.end_object();
}

/// A request without an answer may have taken effect all the same.
std::string_view ending_of(int status) {
    if (status == 0) return "unknown";
    return status < 400 ? "ok" : "error";
}

}  // namespace

bool is_change(const net::Route& route) {
    return route.method != net::Method::kGet && route.unrecorded.empty();
}

void record_change(core::AuditLog& log, const net::HttpExchange& exchange,
                   const core::Principal& principal) {
    const net::HttpRequest& request = exchange.request();
    log.append_call(principal.id, [&](std::string& out) {
        json::Writer writer(out);
        writer.begin_object().key("event").string("admin.change").key("time");
        writer.string(to_rfc3339(exchange.loop().clock().system_now()));
        writer.key("principal").string_lossy(principal.id);
        writer.key("front").string(rtp::front_of(request, "admin"));
        writer.key("method").string_lossy(request.method());
        writer.key("path").string_lossy(cut_text(request.path(), kMostOfPath));
        append_about(writer, request);
        writer.key("status").string(ending_of(exchange.status()));
        writer.key("http_status").integer(exchange.status()).end_object();
    });
}

}  // namespace crab::gateway

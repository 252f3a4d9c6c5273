#include "base/glob.hpp"
#include "cli/admin_client.hpp"
#include "cli/explanation.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "net/codec/url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr int kMostOfOneSearch = 200;

/// A call that runs has a stage, one that has ended a status.
std::string status_of_call(const json::Value& call) {
    if (call.find("stage") != nullptr) return "running: " + text_of(call, "stage");
    const std::string code = text_of(call, "code");
    return text_of(call, "status") + (code.empty() ? "" : " " + code) +
           (flag_of(call, "replayed") ? " (replayed)" : "");
}

std::string time_of_call(const json::Value& call) {
    if (call.find("stage") != nullptr) return to_words(Milliseconds(number_of(call, "elapsed_ms")));
    return to_words(std::chrono::microseconds(number_of(call, "duration_us")));
}

/// Globs, separated by commas, as the audit log takes them.
bool is_one_of(const std::string& globs, std::string_view text) {
    if (globs.empty()) return true;
    for (std::size_t at = 0; at <= globs.size();) {
        const std::size_t end = std::min(globs.find(',', at), globs.size());
        if (Glob(globs.substr(at, end - at)).matches(text)) return true;
        at = end + 1;
    }
    return false;
}

bool is_filtered(const CallsList& options) {
    return !(options.tool.empty() && options.status.empty() && options.principal.empty() &&
             options.since.empty());
}

/// Those that run and fit; a time in the past says nothing against them.
json::Value fitting_running(const json::Value& calls, const CallsList& options) {
    json::Value running = json::Value::array();
    for (const json::Value& call : items_of(calls, "running")) {
        if (is_one_of(options.tool, text_of(call, "tool")) &&
            is_one_of(options.principal, text_of(call, "principal")) &&
            is_one_of(options.status, "running"))
            running.push_back(call);
    }
    return running;
}

/// Those that have ended, from the audit log, newest first.
Result<json::Value> search_ended(const CallsList& options) {
    json::Value ended = json::Value::array();
    std::string query, cursor;
    for (const auto& [name, value] :
         {std::pair{"tool", options.tool}, std::pair{"status", options.status},
          std::pair{"principal", options.principal}, std::pair{"from", options.since}})
        if (!value.empty()) query += fmt::format("&{}={}", name, net::percent_encode(value));
    do {
        const auto part =
            fetch(options.target,
                  fmt::format("/v1/admin/audit?limit={}{}{}", kMostOfOneSearch, query,
                              cursor.empty() ? "" : "&cursor=" + net::percent_encode(cursor)));
        if (!part) return fail(part.error());
        for (const json::Value& record : items_of(*part, "records")) {
            if (std::cmp_equal(ended.as_array()->size(), options.limit)) return ended;
            // what was recorded before it ran, and what is no call, is left out
            if (record.find("call_id") != nullptr && record.find("duration_us") != nullptr)
                ended.push_back(record);
        }
        cursor = text_of(*part, "cursor");
    } while (!cursor.empty());
    return ended;
}

Result<json::Value> find_calls(const CallsList& options) {
    auto calls = fetch(options.target, fmt::format("/v1/admin/calls?limit={}", options.limit));
    if (!calls || !is_filtered(options)) return calls;
    auto ended = search_ended(options);
    if (!ended) return fail(std::move(ended.error()));
    return json::Value::object(
        {{"running", fitting_running(*calls, options)}, {"recent", std::move(*ended)}});
}

}  // namespace

int run(const CallsList& options) {
    const Listing listing{.members = {"running", "recent"},
                          .name = by_member("call_id"),
                          .columns = {column("CALL", "call_id"),
                                      column("TOOL", "tool"),
                                      column("PRINCIPAL", "principal"),
                                      {"TOOK", time_of_call},
                                      {"STATUS", status_of_call},
                                      wide_column("AGENT", "agent"),
                                      wide_column("SESSION", "session"),
                                      wide_column("FRONT", "front"),
                                      wide_column("RULE", "rule")},
                          .empty = is_filtered(options) ? "No such calls." : "No calls yet."};
    return show_list([&] { return find_calls(options); }, listing, options.output);
}

int run(const CallsShow& options) {
    const auto record =
        fetch(options.target, "/v1/admin/calls/" + net::percent_encode(options.call_id));
    if (!record) return report(record.error());
    if (!options.output.is_text()) return show_value(*record, options.output);
    print(explanation_of(*record, Terminal::out()));
    return kExitOk;
}

int run(const CallsCancel& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply =
        accepted(client->post("/v1/admin/calls/" + net::percent_encode(options.call_id) + "/cancel",
                              json::Value::object()));
    if (!reply) return report(reply.error());
    if (text_of(*reply, "status") == "not_found") {
        complain("no running call has that id; crab calls list shows what runs");
        return kExitNotFound;
    }
    return show_done(*reply, options.output, options.call_id, "cancelling " + options.call_id);
}

}  // namespace crab::cli

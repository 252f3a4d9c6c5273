#include "cli/admin_client.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string status_of(const json::Value& record) {
    const std::string code = text_of(record, "code");
    return text_of(record, "status") + (code.empty() ? "" : " " + code) +
           (flag_of(record, "replayed") ? " (replayed)" : "");
}

}  // namespace

int run(const CallsList& options) {
    const Result<json::Value> reply =
        fetch(options.target, fmt::format("/v1/admin/calls?limit={}", options.limit));
    if (!reply) return report(reply.error());
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    Table table({"CALL", "TOOL", "PRINCIPAL", "TOOK", "STATUS"});
    for (const json::Value& call : items_of(*reply, "running")) {
        table.add({text_of(call, "call_id"), text_of(call, "tool"), text_of(call, "principal"),
                   to_words(Milliseconds(number_of(call, "elapsed_ms"))),
                   "running: " + text_of(call, "stage")});
    }
    for (const json::Value& call : items_of(*reply, "recent")) {
        table.add({text_of(call, "call_id"), text_of(call, "tool"), text_of(call, "principal"),
                   to_words(std::chrono::microseconds(number_of(call, "duration_us"))),
                   status_of(call)});
    }
    if (table.empty())
        print_line("No calls yet.");
    else
        print(table.to_text(Terminal::out()));
    return kExitOk;
}

int run(const CallsShow& options) {
    const Result<json::Value> record =
        fetch(options.target, "/v1/admin/calls/" + net::percent_encode(options.call_id));
    if (!record) return report(record.error());
    if (options.output == Output::kJson) return print_json(*record), kExitOk;
    if (!record->is_object())
        return report(
            {.code = ErrorCode::kInternal, .message = "the gateway's answer is not a record"});
    for (const auto& [name, value] : *record->as_object()) {
        print_line(fmt::format("{:<14}{}", printable(name),
                               printable(value.as_string() ? *value.as_string() : value.dump())));
    }
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
    print_line("cancelling " + printable(options.call_id));
    return kExitOk;
}

}  // namespace crab::cli

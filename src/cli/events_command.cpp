#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// What matters most of an event of this type, in a few words.
std::string summary_of(const json::Value& event) {
    const json::Value* const payload = event.find("payload");
    if (payload == nullptr) return {};
    const std::string type = text_of(event, "event_type");
    if (type.starts_with("tool.call.")) {
        std::string text = text_of(*payload, "tool_name") + " " + text_of(*payload, "call_id");
        if (type == "tool.call.completed")
            text += " took " + to_words(Milliseconds(number_of(*payload, "duration_ms")));
        if (const json::Value* const error = payload->find("error"))
            text += " " + text_of(*error, "code") + ": " + text_of(*error, "message");
        return text;
    }
    if (type == "cron.triggered" || type == "heartbeat.tick")
        return text_of(*payload, "job_name") + " for " + text_of(*payload, "scheduled_for");
    return payload->dump();
}

std::string line_of(const json::Value& event, const Terminal& terminal) {
    const std::string type = text_of(event, "event_type");
    const Colour colour = type.ends_with(".failed")      ? Colour::kRed
                          : type.ends_with(".completed") ? Colour::kGreen
                                                         : Colour::kPlain;
    const json::Value* const routing = event.find("routing");
    const std::string where =
        routing == nullptr ? ""
                           : text_of(*routing, "agent_id") + "/" + text_of(*routing, "session_id");
    std::string line = fmt::format(
        "{}  {}  {}  {}", terminal.paint(Colour::kDim, printable(text_of(event, "occurred_at"))),
        terminal.paint(colour, fmt::format("{:<24}", printable(type))),
        terminal.paint(Colour::kDim, printable(where)), printable(summary_of(event)));
    return line;
}

}  // namespace

int run(const EventsTail& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    std::string path = "/v1/events?remember=false";
    if (!options.types.empty()) path += "&types=" + net::percent_encode(options.types);
    if (!options.from.empty()) path += "&cursor=" + net::percent_encode(options.from);
    std::uint64_t shown = 0;
    const auto on_event = [&](const ServerEvent& event) {
        if (event.type == "stream.closed")
            return complain(fmt::format("the gateway ended the stream: {}", printable(event.data))),
                   false;
        if (options.output == Output::kJson) {
            print_line(fmt::format(R"({{"cursor":"{}","event":{}}})", event.id, event.data));
        } else if (const auto parsed = json::Value::parse(event.data)) {
            print_line(line_of(*parsed, Terminal::out()));
        }
        std::fflush(stdout);
        return options.count == 0 || ++shown < options.count;
    };
    const auto ended = accepted(client->follow(path, on_event));
    if (options.count != 0 && shown >= options.count) return kExitOk;
    if (!ended) return report(ended.error());
    complain("the stream ended");
    return kExitFailed;
}

}  // namespace crab::cli

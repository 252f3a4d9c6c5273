#include "cli/call_over_grpc.hpp"

#include "base/encoding.hpp"
#include "cli/admin_client.hpp"
#include "cli/call_outcome.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/interrupt.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/policy_fields.hpp"

#include "crab/tool_client.hpp"

#include <atomic>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <simdjson.h>

namespace crab::cli {
namespace {

/// A result in the form that one over HTTP has.
json::Value result_value(const CallResult& result) {
    const bool is_json = result.content_type.starts_with("application/json");
    if (is_json) {
        if (auto parsed = json::Value::parse(result.result)) return std::move(*parsed);
    }
    const bool is_text = result.content_type.empty() || result.content_type.starts_with("text/");
    if (is_text && simdjson::validate_utf8(result.result))
        return json::Value::object({{"text", result.result}});
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(result.result.data());
    return json::Value::object({{"content_type", result.content_type},
                                {"data_base64", to_base64({bytes, result.result.size()})}});
}

json::Value response_of(const CallResult& result, const json::Value& summary) {
    json::Value response = json::Value::object({{"version", "v1"}, {"call_id", result.call_id}});
    if (!result.ok()) {
        response.set("status", "error");
        response.set("error", json::Value::object({{"code", result.error.code},
                                                   {"message", result.error.message},
                                                   {"retryable", result.error.retryable}}));
        return response;
    }
    response.set("status", "ok");
    response.set("result", result_value(result));
    if (summary.as_object() != nullptr) response.set("summary", summary);
    return response;
}

/// Prints frames as they come: their data, or with -o json a line for each.
class FramePrinter {
public:
    explicit FramePrinter(Output output) : output_(output) {}

    bool operator()(const ToolFrame& frame) {
        if (output_ == Output::kJson) {
            CallResult part;
            part.result = frame.data;
            part.content_type = frame.content_type;
            print_line(json::Value::object({{"event", "frame"},
                                            {"number", static_cast<std::int64_t>(frame.number)},
                                            {"data", result_value(part)}})
                           .dump());
        } else if (output_.is_text()) {
            print_foreign(frame.data);
            printed = printed || !frame.data.empty();
        }
        std::fflush(stdout);
        return true;
    }

    bool printed = false;  ///< data came, so that the result would repeat it

private:
    Output output_;
};

int show(const CallTool& options, const CallResult& result, bool printed) {
    const json::Value summary = json::Value::parse(result.summary).value_or(json::Value());
    const json::Value response = response_of(result, summary);
    if (!options.output.is_text()) {
        if (const int code = show_value(response, options.output); code != kExitOk) return code;
        return exit_code_of_outcome(response);
    }
    const int code = printed && result.ok() ? static_cast<int>(kExitOk) : show_outcome(response);
    std::fflush(stdout);
    if (const std::string words = options.summary ? summary_in_words(summary) : std::string();
        !words.empty())
        complain(words);
    return code;
}

}  // namespace

bool is_grpc_url(std::string_view url) { return url.starts_with("grpc"); }

std::string summary_in_words(const json::Value& summary) {
    std::string words = text_of(summary, "status");
    const auto add = [&](std::string_view part) {
        words += fmt::format("{}{}", words.empty() ? "" : " · ", part);
    };
    const auto time = [&](const char* member) {
        return to_words(std::chrono::milliseconds(number_of(summary, member)));
    };
    if (flag_of(summary, "replayed")) add("replayed");
    if (summary.find("duration_ms") != nullptr) add(time("duration_ms"));
    if (summary.find("cpu_ms") != nullptr) add("CPU " + time("cpu_ms"));
    if (summary.find("peak_memory_bytes") != nullptr)
        add(bytes_in_words(number_of(summary, "peak_memory_bytes")) + " of memory");
    const std::int64_t frames = number_of(summary, "frames");
    if (frames > 0)
        add(fmt::format("{} in {} {}", bytes_in_words(number_of(summary, "bytes")), frames,
                        frames == 1 ? "frame" : "frames"));
    if (const json::Value* policy = summary.find("policy"))
        add(fmt::format("{}, {}", text_of(*policy, "network_policy"),
                        text_of(*policy, "privilege_level")));
    return words;
}

int call_over_grpc(const CallTool& options, const json::Value& args,
                   const std::string& call_id) try {
    auto policy = read_policy_fields(options.policy);
    if (!policy) return report(policy.error());
    CallOptions call{.timeout = options.timeout.value_or(Milliseconds(0)),
                     .idempotency_key = options.idempotency_key,
                     .call_id = call_id,
                     .policy = std::move(*policy)};
    // said: x-agent-id
    if (options.agent != CallTool().agent) call.context.agent_id = options.agent;
    std::optional<ToolClient> client;
    std::atomic<bool> there = false;
    // made before the client's threads, which leave the signal to it
    const Interrupt interrupt([&] {
        complain("interrupted; cancelling the call (once more to leave at once)");
        if (there) static_cast<void>(client->cancel(call_id));
    });
    client.emplace(options.target.url, options.target.token.reveal(),
                   ToolClientOptions{.ca_file = options.target.ca_file,
                                     .allow_plain = options.target.allow_plain});
    there = true;
    FramePrinter printer(options.output);
    const CallResult result =
        options.stream
            ? client->call_stream(options.tool, args.dump(), {.on_frame = std::ref(printer)}, call)
            : client->call(options.tool, args.dump(), call);
    const int code = show(options, result, printer.printed);
    return interrupt.happened() ? static_cast<int>(kExitInterrupted) : code;
} catch (const std::invalid_argument& error) {
    return report({.code = ErrorCode::kInvalidArgs, .message = error.what()});
}

}  // namespace crab::cli

#include "base/encoding.hpp"
#include "base/id_source.hpp"
#include "cli/admin_client.hpp"
#include "cli/call_arguments.hpp"
#include "cli/call_outcome.hpp"
#include "cli/call_over_grpc.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/interrupt.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/tool_names.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

using namespace std::chrono_literals;

/// The gateway answers within a call's own deadline; only a gateway that hangs lets this one pass.
constexpr Milliseconds kLongestCall = 120s, kSlack = 10s;

json::Value request_for(const CallTool& options, const std::string& call_id, json::Value args) {
    json::Value request = json::Value::object({{"version", "v1"},
                                               {"call_id", call_id},
                                               {"tool_name", options.tool},
                                               {"tenant_id", options.tenant}});
    request.set("args", std::move(args));
    if (options.timeout) request.set("timeout_ms", std::int64_t{options.timeout->count()});
    if (!options.idempotency_key.empty()) request.set("idempotency_key", options.idempotency_key);
    request.set("context", json::Value::object({{"agent_id", options.agent},
                                                {"session_id", options.session},
                                                {"request_origin", "operator"}}));
    return request;
}

/// Prints the parts of a streamed result and keeps the response that ends it.
class StreamPrinter {
public:
    explicit StreamPrinter(Output output) : output_(output) {}

    void operator()(std::string_view type, std::string_view data) {
        const Result<json::Value> event = json::Value::parse(data);
        if (!event) return;
        if (type == "result") response = *event;
        if (output_ == Output::kJson) {
            print_line(json::Value::object({{"event", type}, {"data", *event}}).dump());
        } else if (type == "frame" && output_.is_text()) {
            frame(*event);
        } else if (type == "progress" && Terminal::err().interactive()) {
            const json::Value* share = event->find("progress");
            const std::string total = text_of(*event, "total");
            complain(fmt::format("{} {}{}", text_of(*event, "message"), share ? share->dump() : "",
                                 total.empty() ? "" : "/" + total));
        }
        std::fflush(stdout);
    }

    std::optional<json::Value> response;
    bool printed = false;  ///< frames came, so that the result would repeat them

private:
    void frame(const json::Value& event) {
        const bool interactive = Terminal::out().interactive();
        std::string data = text_of(event, "data");
        if (const json::Value* blob = event.find("data_base64"); blob && blob->as_string()) {
            data = from_base64(*blob->as_string()).value_or("");
            if (interactive)
                return complain(fmt::format("({} bytes; send them to a file)", data.size()));
        }
        print(interactive ? printable(data, Lines::kKeep) : data);
        printed = printed || !data.empty();
    }

    Output output_;
};

/// Tells what the gateway answered.
int show_reply(const CallTool& options, const std::string& call_id, AdminClient& client,
               Result<Reply> reply, const StreamPrinter& printer) {
    if (!reply && reply.error().code == ErrorCode::kUnavailable && printer.printed) {
        return report(
            {.code = ErrorCode::kOutcomeUnknown,
             .message = "the connection broke while the result came; crab calls show " + call_id});
    }
    if (!reply) return report(reply.error());
    const json::Value response = printer.response ? *printer.response : reply->body;
    // Rows 1 to 5 of the protocol's checks have other statuses than 200 and the same response
    // object.
    if (!response.find("status")) {
        const Result<json::Value> refused = accepted(std::move(reply));
        return report(refused ? Error{.code = ErrorCode::kInternal,
                                      .message = "the gateway's answer is not a tool response"}
                              : refused.error());
    }
    if (!options.output.is_text()) {
        const bool told = options.stream && options.output == Output::kJson;
        if (const int code = told ? kExitOk : show_value(response, options.output); code != kExitOk)
            return code;
        return exit_code_of_outcome(response);
    }
    const json::Value* error = response.find("error");
    if (error && text_of(*error, "code") == "TOOL_NOT_FOUND") {
        complain(no_such_tool(options.tool, tool_names(client)));
        return kExitNotFound;
    }
    if (printer.printed && exit_code_of_outcome(response) == kExitOk) return kExitOk;
    return show_outcome(response);
}

int call_over_http(const CallTool& options, json::Value args, const std::string& call_id,
                   const Clock& clock) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Deadline deadline = clock.steady_now() + options.timeout.value_or(kLongestCall) +
                              options.away_wait.value_or(Milliseconds(0)) + kSlack;
    if (options.away_wait)
        client->add_header("Crab-Away-Wait-Ms", fmt::format("{}", options.away_wait->count()));

    Interrupt interrupt([&] {
        complain("interrupted; cancelling the call (once more to leave at once)");
        const json::Value cancel = json::Value::object({{"version", "v1"},
                                                        {"tenant_id", options.tenant},
                                                        {"call_id", call_id},
                                                        {"reason", "cancelled"}});
        if (Result<AdminClient> second = AdminClient::make(options.target))
            (void)second->post("/v1/tools/cancel", cancel, clock.steady_now() + 2s);
    });
    const json::Value request = request_for(options, call_id, std::move(args));
    StreamPrinter printer(options.output);
    Result<Reply> reply =
        options.stream ? client->stream("/v1/tools/call", request, std::ref(printer), deadline)
                       : client->post("/v1/tools/call", request, deadline);
    if (interrupt.happened()) return kExitInterrupted;
    return show_reply(options, call_id, *client, std::move(reply), printer);
}

}  // namespace

int run(const CallTool& options) {
    Result<json::Value> args = read_call_arguments(options.args, options.arg);
    if (!args) return report(args.error());
    const RealClock clock;
    IdSource ids(clock);
    const std::string call_id =
        options.call_id.empty() ? std::string(ids.uuid_v7().view()) : options.call_id;
    if (is_grpc_url(options.target.url)) {
        if (options.away_wait)
            return report(
                fail(ErrorCode::kInvalidArgs,
                     "--away-wait does not go over gRPC; leave --url away, or name an http:// one")
                    .error());
        return call_over_grpc(options, *args, call_id);
    }
    if (!options.policy.empty())
        return report(
            fail(ErrorCode::kInvalidArgs, "--policy needs a --url such as grpc://127.0.0.1:50063")
                .error());
    return call_over_http(options, std::move(*args), call_id, clock);
}

}  // namespace crab::cli

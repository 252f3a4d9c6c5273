#include "agent/no_model_runner.hpp"

#include "agent/history.hpp"
#include "agent/tool_batch.hpp"
#include "agent/tool_output.hpp"
#include "base/ascii.hpp"
#include "base/cut_text.hpp"
#include "json/value.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::agent {
namespace {

constexpr std::string_view kNoModel =
    "no model is configured on this gateway. Its tools work all the same: /tools lists them, /tool "
    "NAME {json} calls one. "
    "How to configure a model: docs/how_to/chat_with_a_model.md";
constexpr Milliseconds kLongest{600'000};

}  // namespace

std::string NoModelRunner::list_tools(const ToolAccess& access) {
    std::string text;
    for (const auto& [name, tool] : pipeline_.list_for(access.view())) {
        const std::string_view description = tool->spec.description;
        text += fmt::format("{}: {}\n", name,
                            cut_text(description.substr(0, description.find('\n')), 200));
    }
    return text.empty() ? "There is no tool that you may call.\n" : text;
}

Task<Result<std::string>> NoModelRunner::call_tool(const ToolAccess& access, std::string_view rest,
                                                   std::size_t output_bytes,
                                                   core::TurnEvents& events) {
    const std::string_view name = rest.substr(0, rest.find_first_of(" \t\r\n{"));
    const std::string_view args = crab::trim(rest.substr(name.size()), kWhiteSpace);
    if (name.empty())
        co_return fail(ErrorCode::kInvalidArgs, "/tool needs a name: /tool NAME {json}");
    const auto parsed = json::Value::parse(args.empty() ? "{}" : args);
    if (!parsed || !parsed->is_object())
        co_return fail(ErrorCode::kInvalidArgs,
                       "what follows the name of a tool is one JSON object, or nothing");
    const ToolRequest wanted{.id = fmt::format("call_{}", loop_.ids().uuid_v7().view()),
                             .tool = std::string(name),
                             .args = args.empty() ? "{}" : std::string(args),
                             .call_id = loop_.ids().uuid_v7()};
    events.on_message("assistant", "", requests_extra(std::span(&wanted, 1)));
    events.on_call_id(wanted.id, wanted.call_id->view());
    events.on_tool_call(wanted.id, wanted.tool, wanted.args);
    ToolBatch batch(runner_, loop_, access, loop_.clock().steady_now() + kLongest);
    const std::vector<const ToolRequest*> requests{&wanted};
    const std::vector<core::Outcome> outcomes = co_await batch.run(requests);
    std::string output = shown_to_model(outcomes.front(), output_bytes);
    events.on_message("tool", output, result_extra(wanted));
    if ((co_await this_chain()).cancelled())
        co_return fail(ErrorCode::kCancelled, "the turn was cancelled");
    events.on_tool_result(wanted.id, wanted.tool, output);
    co_return output;
}

Task<Result<std::string>> NoModelRunner::run(core::TurnRequest request, core::TurnEvents& events) {
    const std::string_view asked = crab::trim(request.content, kWhiteSpace);
    auto agent = agents_->find(request.persona);
    if (!agent) co_return fail(std::move(agent.error()));
    const ToolAccess access(request, **agent);
    Result<std::string> answer = fail(ErrorCode::kUnavailable, std::string(kNoModel));
    if (asked == "/tools") {
        answer = list_tools(access);
    } else if (asked == "/tool" || asked.starts_with("/tool ")) {
        answer = co_await call_tool(access, crab::trim(asked.substr(5), kWhiteSpace),
                                    (*agent)->output_bytes, events);
    }
    if (answer) events.on_chunk(*answer);
    co_return answer;
}

}  // namespace crab::agent

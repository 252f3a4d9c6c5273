#include "adapters/mcp/upstreams/outcome.hpp"

#include "adapters/mcp/wire/result.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "adapters/mcp/wire/upstream_error.hpp"
#include "base/cut_text.hpp"
#include "json/parser.hpp"
#include "json/raw_parts.hpp"
#include "json/schema/schema.hpp"
#include "json/writer.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostMessage = 4096;

Error tool_failed(std::string message, std::string details = {}) {
    return {.code = ErrorCode::kToolFailed,
            .message = std::move(message),
            .details = std::move(details),
            .retryable = false};
}

/// Whether the client can do all that a -32021 asks for: then its answer was not passed on.
bool has_required(const RpcError& error, const core::Inquirer::Answers& answers) {
    const auto required = json::find_raw(error.data, "requiredCapabilities");
    if (!required) return false;
    for (json::RawParts parts(*required); parts.next();) {
        const bool has = (parts.name() == "elicitation" && (answers.form || answers.url)) ||
                         (parts.name() == "sampling" && answers.sampling) ||
                         (parts.name() == "roots" && answers.roots);
        if (!has) return false;
    }
    return true;
}

std::string passed(const RpcError& error) {
    std::string details;
    json::Writer writer(details);
    writer.begin_object().key(kPassedError).begin_object();
    writer.key("code").integer(error.code).key("message").string_lossy(error.message);
    if (!error.data.empty()) writer.key("data").raw(error.data);
    writer.end_object().end_object();
    return details;
}

Error error_of(const RpcError& error, Era era, const ReplyContext& context) {
    const BridgedError bridged =
        bridge_error(error, {.method = context.method,
                             .upstream = era,
                             .client = Revision::k2026_07_28,
                             .client_has_capability = has_required(error, context.answers)});
    const std::string said(cut_text(clean_text(error.message).text, kMostMessage));
    const bool not_found =
        error.code == rpc_code::kResourceNotFound ||
        (context.method == "resources/read" && error.code == rpc_code::kInvalidParams &&
         bridged.use == UpstreamErrorUse::kPass && json::find_raw(error.data, "uri"));
    if (not_found) {
        return {.code = ErrorCode::kNotFound,
                .message = fmt::format("{} has no such resource: {}", context.source, said)};
    }
    if (bridged.use == UpstreamErrorUse::kOwn) {
        return tool_failed(fmt::format("the MCP server {} answered with the error {}: {}",
                                       context.source, error.code, said));
    }
    return tool_failed(said.empty() ? fmt::format("the MCP server {} gave the error {}",
                                                  context.source, error.code)
                                    : said,
                       passed(error));
}

/// Why a result breaks the schema of its tool; nothing when it does not.
std::optional<std::string> violation(std::string_view result, const json::Schema& schema) {
    const auto structured = json::find_raw(result, "structuredContent");
    if (!structured) return "it has no structuredContent";
    json::Parser parser;
    const auto root = parser.parse(*structured);
    if (!root) return root.error().message;
    const auto violations = schema.check(root->element(), 1);
    return violations.empty() ? std::nullopt : std::optional(violations.front().message);
}

Result<void> check_output(std::string_view result, const ReplyContext& context) {
    const UpstreamTool* tool = context.tool;
    if (tool == nullptr || !tool->output || tool->check == OutputCheck::kOff) return {};
    const auto why = violation(result, *tool->output);
    if (!why) return {};
    if (tool->check == OutputCheck::kStrict)
        return fail(tool_failed(
            fmt::format("the tool's result breaks its own output schema ({}); the call may have "
                        "taken effect",
                        *why)));
    if (context.on_off_schema) context.on_off_schema(*why);
    return {};
}

}  // namespace

core::Outcome outcome_of(CallReply reply, const ReplyContext& context) {
    if (!reply.reply) return fail(error_of(reply.reply.error(), reply.era, context));
    const std::string& result = *reply.reply;
    if (result_type(result) != "complete")
        return fail(tool_failed(
            fmt::format("the MCP server {} gave a result of an unknown type", context.source)));
    if (is_error_result(result)) {
        std::string said(cut_text(first_text(result), kMostMessage));
        if (said.empty()) said = "the tool failed and did not say why";
        return fail(tool_failed(std::move(said), core_result(result)));
    }
    if (auto checked = check_output(result, context); !checked)
        return fail(std::move(checked.error()));
    core::ToolResult made;
    made.kind = core::ContentKind::kJson;
    made.content = core_result(result);
    made.content_type = kMcpResultType;
    return made;
}

}  // namespace crab::mcp

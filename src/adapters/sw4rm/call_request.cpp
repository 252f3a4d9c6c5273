#include "adapters/sw4rm/call_request.hpp"

#include "adapters/sw4rm/struct_json.hpp"
#include "core/call/effective_policy.hpp"
#include "core/call/tool.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <simdjson.h>

#include <algorithm>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::size_t kMostIdBytes = 256;
constexpr std::size_t kMostQuotedBytes = 64;

/// A value of the request as a message may show it.
std::string shown(std::string_view text) {
    std::string out;
    json::append_quoted_lossy(out, text.substr(0, kMostQuotedBytes));
    return out;
}

/// Lower case and without parameters.
std::string media_type(std::string_view content_type) {
    std::string type(content_type.substr(0, content_type.find(';')));
    while (type.ends_with(' ') || type.ends_with('\t')) type.pop_back();
    return lower_case(type);
}

Result<void> read_policy(const ExecutionPolicy& wire, core::Call& call) {
    if (wire.timeout) {
        const auto timeout = wire.timeout->value();
        if (!timeout || timeout->count() < 0) {
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format("policy.timeout is not a duration of 0 s or more: {} s and {} ns",
                            wire.timeout->seconds, wire.timeout->nanos));
        }
        if (timeout->count() > 0) call.timeout = std::chrono::ceil<Milliseconds>(*timeout);
    }
    if (wire.max_retries != 0) call.policy.max_retries = wire.max_retries;
    call.policy.backoff = wire.backoff;
    call.policy.worktree_required = wire.worktree_required;
    call.policy.network_policy = wire.network_policy;
    call.policy.privilege_level = wire.privilege_level;
    call.policy.budget_cpu_ms = wire.budget_cpu_ms;
    call.policy.budget_wall_ms = wire.budget_wall_ms;
    const auto unknown = [](std::string_view field, std::string_view word) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("policy.{} has no value {}", field, shown(word)));
    };
    if (!wire.backoff.empty() && !core::find_backoff(wire.backoff))
        return unknown("backoff", wire.backoff);
    if (!wire.network_policy.empty() && !core::find_network(wire.network_policy))
        return unknown("network_policy", wire.network_policy);
    if (!wire.privilege_level.empty() && !core::find_privilege(wire.privilege_level))
        return unknown("privilege_level", wire.privilege_level);
    return {};
}

}  // namespace

bool is_call_id(std::string_view id) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    return !id.empty() && id.size() <= kMostIdBytes && std::ranges::none_of(id, is_control) &&
           simdjson::validate_utf8(id.data(), id.size());
}

Result<void> parse_call(const ToolCall& wire, CallTexts& texts, core::Call& call) {
    if (!wire.call_id.empty() && !is_call_id(wire.call_id)) {
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format(
                "call_id has to be 1 to {} bytes of UTF-8 without control characters; it has {}",
                kMostIdBytes, wire.call_id.size()));
    }
    if (!core::is_tool_name(wire.tool_name)) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("tool_name has to be 1 to 128 of A-Z a-z 0-9 _ . -, not {}",
                                shown(wire.tool_name)));
    }
    call.id = wire.call_id;
    call.tool = wire.tool_name;
    call.provider_id = wire.provider_id;
    call.args = wire.args;
    texts.body_type = media_type(wire.content_type);
    if (texts.body_type == "application/protobuf") {
        auto text = struct_to_json(wire.args);
        if (!text)
            return fail(ErrorCode::kInvalidArgs,
                        "args is not a serialized google.protobuf.Struct, as content_type says");
        texts.args = std::move(*text);
        call.args = texts.args;
    } else if (!texts.body_type.empty() && texts.body_type != "application/json") {
        call.body_type = texts.body_type;  // whether the tool takes it is the pipeline's to say
        call.body = wire.args;
        call.args = "{}";
    }
    if (call.args == "null")
        return fail(ErrorCode::kInvalidArgs, "args has to be one JSON object, not null");
    return wire.policy ? read_policy(*wire.policy, call) : Result<void>{};
}

}  // namespace crab::sw4rm

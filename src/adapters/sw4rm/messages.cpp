#include "adapters/sw4rm/messages.hpp"

#include "net/codec/protobuf.hpp"

#include <initializer_list>

namespace crab::sw4rm {
namespace {

using net::ProtobufReader;
using net::ProtobufWriter;
using Field = ProtobufReader::Field;

void read(const Field& field, std::string_view& out) {
    if (field.is_bytes()) out = field.bytes;
}
template <class T>
    requires std::is_integral_v<T>
void read(const Field& field, T& out) {
    if (field.is_varint()) out = static_cast<T>(field.value);
}

/// Calls `take(field)` for every field; false when the message is malformed or `take` says so.
template <class F>
bool each_field(std::string_view bytes, F take) {
    ProtobufReader reader(bytes);
    while (const auto field = reader.next()) {
        if (!take(*field)) return false;
    }
    return !reader.failed();
}

/// A message of texts, numbered from 1 in this order.
bool read_texts(std::string_view bytes, std::initializer_list<std::string_view*> texts) {
    return each_field(bytes, [&](const Field& field) {
        if (field.number >= 1 && field.number <= texts.size())
            read(field, *texts.begin()[field.number - 1]);
        return true;
    });
}

bool parse(std::string_view bytes, Duration& out) {
    return each_field(bytes, [&](const Field& field) {
        if (field.number == 1) read(field, out.seconds);
        if (field.number == 2) read(field, out.nanos);
        return true;
    });
}

bool parse(std::string_view bytes, ExecutionPolicy& out) {
    return each_field(bytes, [&](const Field& field) {
        switch (field.number) {
            case 1:
                if (!field.is_bytes()) break;
                if (!out.timeout) out.timeout.emplace();
                return parse(field.bytes, *out.timeout);  // a message that comes twice is merged
            case 2: read(field, out.max_retries); break;
            case 3: read(field, out.backoff); break;
            case 4: read(field, out.worktree_required); break;
            case 5: read(field, out.network_policy); break;
            case 6: read(field, out.privilege_level); break;
            case 7: read(field, out.budget_cpu_ms); break;
            case 8: read(field, out.budget_wall_ms); break;
            default: break;
        }
        return true;
    });
}

bool parse(std::string_view bytes, ToolDescriptor& out) {
    return each_field(bytes, [&](const Field& field) {
        switch (field.number) {
            case 1: read(field, out.tool_name); break;
            case 2: read(field, out.input_schema); break;
            case 3: read(field, out.output_schema); break;
            case 4: read(field, out.idempotent); break;
            case 5: read(field, out.needs_worktree); break;
            case 6: read(field, out.default_timeout_s); break;
            case 7: read(field, out.max_concurrency); break;
            case 8: read(field, out.side_effects); break;
            default: break;
        }
        return true;
    });
}

}  // namespace

std::optional<std::chrono::nanoseconds> Duration::value() const {
    // as google/protobuf/duration.proto says
    constexpr std::int64_t kMostSeconds = 315'576'000'000;
    constexpr std::int32_t kSecond = 1'000'000'000;
    if (seconds > kMostSeconds || seconds < -kMostSeconds || nanos >= kSecond || nanos <= -kSecond)
        return std::nullopt;
    if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) return std::nullopt;
    constexpr std::int64_t kMostInNanoseconds = 9'000'000'000;
    if (seconds > kMostInNanoseconds) return std::chrono::seconds(kMostInNanoseconds);
    if (seconds < -kMostInNanoseconds) return std::chrono::seconds(-kMostInNanoseconds);
    return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos);
}

std::optional<ToolCall> parse_tool_call(std::string_view bytes) {
    ToolCall call;
    const bool whole = each_field(bytes, [&](const Field& field) {
        switch (field.number) {
            case 1: read(field, call.call_id); break;
            case 2: read(field, call.tool_name); break;
            case 3: read(field, call.provider_id); break;
            case 4: read(field, call.content_type); break;
            case 5: read(field, call.args); break;
            case 6:
                if (!field.is_bytes()) break;
                if (!call.policy) call.policy.emplace();
                return parse(field.bytes, *call.policy);
            case 7: read(field, call.stream); break;
            default: break;
        }
        return true;
    });
    if (!whole) return std::nullopt;
    return call;
}

std::optional<ToolFrame> parse_tool_frame(std::string_view bytes) {
    ToolFrame frame;
    const bool whole = each_field(bytes, [&](const Field& field) {
        switch (field.number) {
            case 1: read(field, frame.call_id); break;
            case 2: read(field, frame.frame_no); break;
            case 3: read(field, frame.final); break;
            case 4: read(field, frame.content_type); break;
            case 5: read(field, frame.data); break;
            case 6: read(field, frame.summary); break;
            default: break;
        }
        return true;
    });
    if (!whole) return std::nullopt;
    return frame;
}

std::optional<ToolError> parse_tool_error(std::string_view bytes) {
    ToolError error;
    if (!read_texts(bytes, {&error.call_id, &error.error_code, &error.message}))
        return std::nullopt;
    return error;
}

std::optional<HitlDecision> parse_hitl_decision(std::string_view bytes) {
    HitlDecision decision;
    if (!read_texts(bytes, {&decision.action, &decision.payload, &decision.rationale}))
        return std::nullopt;
    return decision;
}

std::optional<WorktreeStatus> parse_worktree_status(std::string_view bytes) {
    WorktreeStatus status;
    if (!read_texts(bytes, {&status.repo_id, &status.worktree_id, &status.state}))
        return std::nullopt;
    return status;
}

std::optional<std::string_view> parse_name(std::string_view bytes) {
    std::string_view name;
    const bool whole = each_field(bytes, [&](const Field& field) {
        if (field.number == 1) read(field, name);
        return true;
    });
    if (!whole) return std::nullopt;
    return name;
}

std::optional<std::vector<ToolDescriptor>> parse_descriptors(std::string_view bytes) {
    std::vector<ToolDescriptor> tools;
    const bool whole = each_field(bytes, [&](const Field& field) {
        return field.number != 1 || !field.is_bytes() || parse(field.bytes, tools.emplace_back());
    });
    if (!whole) return std::nullopt;
    return tools;
}

std::optional<ProviderRegistration> parse_provider_registration(std::string_view bytes) {
    ProviderRegistration registration;
    const bool whole = each_field(bytes, [&](const Field& field) {
        if (field.number == 1) read(field, registration.provider_id);
        return field.number != 2 || !field.is_bytes() ||
               parse(field.bytes, registration.tools.emplace_back());
    });
    if (!whole) return std::nullopt;
    return registration;
}

void to_wire(std::string& out, const ExecutionPolicy& policy) {
    ProtobufWriter writer(out);
    if (policy.timeout) {
        std::string timeout;
        ProtobufWriter(timeout)
            .number(1, static_cast<std::uint64_t>(policy.timeout->seconds))
            .number(2,
                    static_cast<std::uint64_t>(static_cast<std::int64_t>(policy.timeout->nanos)));
        writer.message(1, timeout);
    }
    writer.number(2, policy.max_retries)
        .bytes(3, policy.backoff)
        .boolean(4, policy.worktree_required);
    writer.bytes(5, policy.network_policy).bytes(6, policy.privilege_level);
    writer.number(7, policy.budget_cpu_ms).number(8, policy.budget_wall_ms);
}

void to_wire(std::string& out, const ToolCall& call) {
    ProtobufWriter writer(out);
    writer.bytes(1, call.call_id)
        .bytes(2, call.tool_name)
        .bytes(3, call.provider_id)
        .bytes(4, call.content_type)
        .bytes(5, call.args);
    if (call.policy) {
        std::string policy;
        to_wire(policy, *call.policy);
        writer.message(6, policy);
    }
    writer.boolean(7, call.stream);
}

void to_wire(std::string& out, const ToolFrame& frame) {
    ProtobufWriter writer(out);
    writer.bytes(1, frame.call_id).number(2, frame.frame_no).boolean(3, frame.final);
    writer.bytes(4, frame.content_type).bytes(5, frame.data).bytes(6, frame.summary);
}

void to_wire(std::string& out, const ToolError& error) {
    ProtobufWriter(out).bytes(1, error.call_id).bytes(2, error.error_code).bytes(3, error.message);
}

void to_wire(std::string& out, const HitlInvocation& invocation) {
    ProtobufWriter writer(out);
    writer.number(1, static_cast<std::uint64_t>(invocation.reason)).bytes(2, invocation.context);
    for (const std::string_view action : invocation.proposed_actions) writer.bytes(3, action);
}

void to_wire(std::string& out, const ToolDescriptor& tool) {
    std::string message;
    ProtobufWriter(message)
        .bytes(1, tool.tool_name)
        .bytes(2, tool.input_schema)
        .bytes(3, tool.output_schema)
        .boolean(4, tool.idempotent)
        .boolean(5, tool.needs_worktree)
        .number(6, tool.default_timeout_s)
        .number(7, tool.max_concurrency)
        .bytes(8, tool.side_effects);
    ProtobufWriter(out).message(1, message);
}

void registration_to_wire(std::string& out, bool ok, std::string_view reason) {
    ProtobufWriter(out).boolean(1, ok).bytes(2, reason);
}

}  // namespace crab::sw4rm

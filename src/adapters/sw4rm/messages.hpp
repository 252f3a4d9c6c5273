#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The messages of docs/protocols/sw4rm.md, section 1. Parsed messages view the bytes that they
/// were read from. Unknown fields are ignored, of repeated fields the last counts, and a field of
/// an unexpected wire type counts as unknown.
namespace crab::sw4rm {

/// google.protobuf.Duration, unchecked.
struct Duration {
    std::int64_t seconds = 0;
    std::int32_t nanos = 0;
    friend bool operator==(const Duration&, const Duration&) = default;

    /// Nothing when malformed: signs that differ, nanos beyond a second, more than 10 000 years.
    std::optional<std::chrono::nanoseconds> value() const;
};

struct ExecutionPolicy {
    std::optional<Duration> timeout;
    std::uint32_t max_retries = 0;
    std::string_view backoff;
    bool worktree_required = false;
    std::string_view network_policy, privilege_level;
    std::uint64_t budget_cpu_ms = 0, budget_wall_ms = 0;
    friend bool operator==(const ExecutionPolicy&, const ExecutionPolicy&) = default;
};

struct ToolCall {
    std::string_view call_id, tool_name, provider_id, content_type, args;
    std::optional<ExecutionPolicy> policy;
    bool stream = false;
    friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct ToolFrame {
    std::string_view call_id;
    std::uint64_t frame_no = 0;
    bool final = false;
    std::string_view content_type, data, summary;
    friend bool operator==(const ToolFrame&, const ToolFrame&) = default;
};

struct ToolError {
    std::string_view call_id, error_code, message;
    friend bool operator==(const ToolError&, const ToolError&) = default;
};

struct ToolDescriptor {
    std::string_view tool_name, input_schema, output_schema;
    bool idempotent = false, needs_worktree = false;
    std::uint32_t default_timeout_s = 0, max_concurrency = 0;
    std::string_view side_effects;
    friend bool operator==(const ToolDescriptor&, const ToolDescriptor&) = default;
};

struct ProviderRegistration {
    std::string_view provider_id;
    std::vector<ToolDescriptor> tools;
    friend bool operator==(const ProviderRegistration&, const ProviderRegistration&) = default;
};

/// A request to HitlService.Decide.
struct HitlInvocation {
    enum class Reason : std::uint8_t { kSecurityApproval = 2, kToolPrivilegeEscalation = 7 };
    Reason reason = Reason::kSecurityApproval;
    std::string_view context;  ///< JSON
    std::vector<std::string_view> proposed_actions;
};

struct HitlDecision {
    std::string_view action, payload, rationale;
};

/// The answer of WorktreeService.Status.
struct WorktreeStatus {
    std::string_view repo_id, worktree_id, state;
};

/// Nothing when the bytes are no protobuf message.
std::optional<ToolCall> parse_tool_call(std::string_view bytes);
std::optional<ToolFrame> parse_tool_frame(std::string_view bytes);
std::optional<ToolError> parse_tool_error(std::string_view bytes);
std::optional<ProviderRegistration> parse_provider_registration(std::string_view bytes);
/// DescribeToolsRequest and HealthCheckRequest: one text, number 1.
std::optional<std::string_view> parse_name(std::string_view bytes);
std::optional<std::vector<ToolDescriptor>> parse_descriptors(std::string_view bytes);
std::optional<HitlDecision> parse_hitl_decision(std::string_view bytes);
std::optional<WorktreeStatus> parse_worktree_status(std::string_view bytes);

void to_wire(std::string& out, const ToolCall& call);
void to_wire(std::string& out, const ToolFrame& frame);
void to_wire(std::string& out, const ToolError& error);
void to_wire(std::string& out, const ExecutionPolicy& policy);
/// One element of DescribeToolsResponse.
void to_wire(std::string& out, const ToolDescriptor& descriptor);
void to_wire(std::string& out, const HitlInvocation& invocation);
/// ProviderRegisterResponse.
void registration_to_wire(std::string& out, bool ok, std::string_view reason);

}  // namespace crab::sw4rm

#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/upstreams/pins.hpp"
#include "adapters/mcp/upstreams/tool_reading.hpp"
#include "adapters/mcp/upstreams/tool_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace crab::mcp {

/// One configured upstream. Source: docs/protocols/mcp.md, section 7.6.
struct UpstreamSettings {
    UpstreamOptions connection;  ///< `source` is its name
    ToolRules tools;
    PinMode pin = PinMode::kTrustFirst;
    bool eager = false;  ///< kept connected; else opened again when a call needs it
    bool shared_session = false;  ///< the server keeps no state of its callers
    /// Whether people log in there, so that no call of one uses the session of another; asked
    /// before each call. Null: they do not.
    std::function<bool()> has_logins;
    bool pass_instructions = false;
    std::size_t at_once = 64;     ///< calls
    Milliseconds idle_stop{0};    ///< a session nobody uses is closed after this; 0: never
};

/// What operators see of an upstream.
struct UpstreamStatus {
    enum class State : std::uint8_t {
        kConnecting,
        kUp,
        kIdle,  ///< closed until a call needs it
        kDown,  ///< tried again soon
        kStopped,
    };
    std::string source;
    State state = State::kConnecting;
    std::optional<FoundEra> found;
    std::string server_info;  ///< an object; empty before the first session
    std::size_t tools = 0, resources = 0, templates = 0, prompts = 0;
    bool is_listed = false;   ///< its lists have been read at least once
    std::size_t removed = 0;  ///< characters that nobody sees
    std::size_t sessions = 0;  ///< of principals
    std::size_t calls = 0;     ///< running
    std::vector<SkippedEntry> left_out;
    std::vector<HeldBack> held;
    /// Results that broke their tools' output schemas and were passed on all the same
    std::uint64_t off_schema = 0;
    std::string off_schema_tool;  ///< that gave the last of them
    /// Messages of the server that nobody had asked for, or could answer
    std::uint64_t dropped = 0;
    std::string last_error;  ///< the reason why it is not up, or its lists are old
    std::string error_tail;  ///< of a child's standard error
};
std::string_view name_of(UpstreamStatus::State state);

}  // namespace crab::mcp

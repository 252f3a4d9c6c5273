#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"
#include "json/value.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {

/// How an MCP server does, as the part of the gateway that runs it sees it.
struct McpServerState {
    std::string name;
    std::string state;    ///< `stopped`, `starting`, `ready` (its tools are offered), `failing`
    std::string version;  ///< the revision that is spoken with it; empty: not known yet
    std::string server;   ///< what it calls itself, with its version
    std::size_t tools = 0, resources = 0, prompts = 0;
    struct SkippedEntry {
        std::string name, reason;
    };
    std::vector<SkippedEntry> left_out;  ///< entries of its lists that nobody is shown
    std::size_t held = 0;   ///< entries that wait for an approval
    std::size_t removed = 0;  ///< characters that nobody sees, taken out of its descriptions
    /// Results that broke their tool's output schema and were passed on; the last one's tool
    std::uint64_t off_schema = 0;
    std::string off_schema_tool;
    std::uint64_t dropped = 0;  ///< its messages that nobody had asked for, or could answer
    std::string error;      ///< the last one; empty: none since it was ready
    std::string stderr_tail;  ///< what its program has said last
};

/// A description that is new or has changed since it was approved.
struct McpChange {
    std::string kind;  ///< `tool`, `prompt`, `resource`, `instructions`
    std::string name;
    std::string why;     ///< `new`, `changed`, `looks alike`, …
    std::string before, after;  ///< what is pinned, as JSON; empty: it was, or is, not there
    std::string digest;  ///< of what is approved with it
};
/// One of them as it was shown to whoever approves it.
struct McpApproval {
    std::string kind, name, digest;
};

/// A login at a server that has begun.
struct McpLoginBegun {
    std::string id;
    std::string url;  ///< the page to open
};

/// The running servers of MCP; where nothing else is said, from any thread of the pool, and may
/// block.
class McpServersControl {
public:
    virtual ~McpServersControl() = default;
    virtual std::vector<McpServerState> states() = 0;
    /// What waits for an approval. Errors: kNotFound, kUnavailable.
    virtual Result<std::vector<McpChange>> diff(std::string_view server) = 0;
    /// Approves these entries, all or none; returns their names. From any loop, where it does not
    /// block. Errors: kNotFound for a server or an entry that does not wait, kConflict for one that
    /// is not what was shown, kUnavailable when it cannot be stored.
    virtual Task<Result<std::vector<std::string>>> approve(std::string server,
                                                           std::vector<McpApproval> entries) = 0;
    /// Begins a login of `principal`; empty: of the gateway itself. Errors: kNotFound,
    /// kInvalidArgs for a server or an address that has none, kAuthRequired for one that cannot be
    /// logged in at safely, those of asking it.
    virtual Result<McpLoginBegun> begin_login(std::string_view server, std::string_view principal,
                                              std::string_view redirect_uri) = 0;
    /// Ends it with what the browser came back with. Errors: kNotFound, kAuthRequired.
    virtual Result<void> finish_login(std::string_view server, std::string_view login,
                                      std::string_view redirected) = 0;
    /// Forgets a login. Errors: kNotFound for one that there is not.
    virtual Result<void> logout(std::string_view server, std::string_view principal) = 0;
};

/// A server as it is configured, or as it was added.
struct KnownMcpServer {
    std::string name;
    std::vector<std::string> argv;  ///< the whole command, or
    std::string url;
    bool configured = false;  ///< in the file of the configuration, which only people change
    bool enabled = true;
    std::string origin;  ///< who added it
    std::string problem;  ///< why it cannot be used
};

/// Which servers there are, and the change of those that were not configured. From any thread of
/// the pool, and may block.
class McpServerConfigs {
public:
    enum class Put : bool { kNew, kReplace };

    virtual ~McpServerConfigs() = default;
    virtual std::vector<KnownMcpServer> known() = 0;
    /// Adds a server as under `mcp.servers`. Errors: kInvalidArgs, kConflict for a name that is
    /// configured or, with kNew, taken; kNotFound with kReplace; kUnavailable.
    virtual Result<void> put(std::string_view name, json::Value server, std::string_view origin,
                             Put how) = 0;
    /// Errors: kNotFound, kConflict for one that is configured, kUnavailable.
    virtual Result<void> remove(std::string_view name) = 0;
};

}  // namespace crab::admin

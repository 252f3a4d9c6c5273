#pragma once

#include "adapters/mcp/server/parked_calls.hpp"
#include "adapters/mcp/server/resource_links.hpp"
#include "adapters/mcp/server/scope.hpp"
#include "adapters/mcp/server/sessions.hpp"
#include "adapters/mcp/tasks/task_table.hpp"
#include "adapters/mcp/wire/message_reader.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/sealed.hpp"
#include "base/byte_budget.hpp"
#include "base/encoding.hpp"
#include "core/approvals/approvals.hpp"
#include "core/policy/principal_limits.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// What the configuration says of the server's side (docs/protocols/mcp.md; the defaults are those
/// of its text).
struct ServerOptions {
    RevisionSet versions;
    std::string version;  ///< of this program, in `serverInfo`
    std::size_t max_request = kMaxRequest;
    Milliseconds stream_after{500};
    Milliseconds keepalive{15'000};
    Milliseconds poll_after{
        0};  ///< when a stream of the newest legacy revision is closed; 0: never
    Milliseconds list_ttl{10'000};
    Milliseconds input_wait{10 * 60 * 1000};  ///< with a question to a client
    Milliseconds task_patience{10'000};  ///< with the store of tasks
    Milliseconds task_after{10'000};  ///< that a call runs, for clients that take tasks
    std::size_t page = 500;
    std::size_t listens_per_principal = 16;
    core::Approvals* owners_approve = nullptr;  ///< null: only operators do
    Scope whole;  ///< of `/mcp`
    std::vector<Scope> scopes;  ///< of `/mcp/<name>`
    bool legacy_sse = false;  ///< `/mcp/sse`, for clients of 2024-11-05
    Sessions::Limits sessions;
};

/// What a watched resource takes: its URI is with the client's stream, with the watches and with
/// who tells of it.
constexpr std::size_t bytes_of_watch(std::string_view uri) { return 512 + 3 * uri.size(); }

/// What the endpoints of all event loops share.
class ServerState {
public:
    /// `key` seals cursors and states of requests; it is used for nothing else. The references
    /// outlive the state.
    ServerState(ServerOptions options, const TaskTable::Uses& uses, crypto::AesKey key);

    const ServerOptions options;
    const std::string server_info;  ///< `serverInfo`, an object
    Sessions sessions;
    core::PrincipalLimits listens;
    core::PrincipalLimits searches{8};  ///< that run, or wait for their turn
    ByteBudgets watched{std::size_t{4} << 20, std::size_t{64} << 20};  ///< of principals' watches
    ResourceLinks links;
    ParkedCalls parked;
    TaskTable tasks;
    const Sealer sealer;
    /// Drops what was kept for long enough; false when nothing is kept.
    bool sweep();
    /// A name that nobody can guess.
    std::string new_key() { return to_hex(random_.bytes<16>()); }

private:
    crypto::RandomSource& random_;
};

}  // namespace crab::mcp

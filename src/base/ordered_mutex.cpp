#include "base/ordered_mutex.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace crab {

std::string_view name_of(LockRank rank) {
    switch (rank) {
        case LockRank::kReload: return "Gateway, reloading";
        case LockRank::kMcpServerList: return "McpServerList";
        case LockRank::kWorktreesFile: return "the file of worktrees";
        case LockRank::kProviderCall: return "ProviderTools, a call";
        case LockRank::kMetricsPage: return "MetricsPage";
        case LockRank::kMcpServers: return "McpServers";
        case LockRank::kPeersWriting: return "Peers, writing";
        case LockRank::kTokensWriting: return "Tokens, writing";
        case LockRank::kLeasesWriting: return "Leases, writing";
        case LockRank::kDeviceToolsWriting: return "DeviceTools, writing";
        case LockRank::kApprovalsWriting: return "Approvals, writing";
        case LockRank::kAuditStoring: return "AuditLog, storing";
        case LockRank::kOAuthFile: return "OAuthCredentialsFile, writing";
        case LockRank::kStore: return "a store";
        case LockRank::kPeers: return "Peers";
        case LockRank::kTokens: return "Tokens";
        case LockRank::kLeases: return "Leases";
        case LockRank::kDeviceTools: return "DeviceTools";
        case LockRank::kApprovals: return "Approvals";
        case LockRank::kApprovalFeed: return "ApprovalFeed";
        case LockRank::kCallFeed: return "CallFeed";
        case LockRank::kAwayCalls: return "AwayCalls";
        case LockRank::kUpstreams: return "Upstreams";
        case LockRank::kRegistry: return "Registry";
        case LockRank::kToolSchemas: return "tool schemas";
        case LockRank::kLedger: return "Ledger";
        case LockRank::kLedgerJoins: return "Ledger, joins";
        case LockRank::kHub: return "Hub";
        case LockRank::kChat: return "Chat";
        case LockRank::kHostDirectory: return "HostDirectory";
        case LockRank::kToolListing: return "ToolListing";
        case LockRank::kTurnEventLog: return "TurnEventLog";
        case LockRank::kEventOutbox: return "EventOutbox";
        case LockRank::kGatewayTls: return "GatewayTls";
        case LockRank::kCatalogs: return "Catalogs";
        case LockRank::kTaskWatches: return "TaskTable, watches";
        case LockRank::kParkedCalls: return "ParkedCalls";
        case LockRank::kOAuthCredentials: return "OAuthCredentials";
        case LockRank::kTimeZones: return "TimeZones";
        case LockRank::kDevice: return "Device";
    }
    return "unknown";
}

namespace detail {
namespace {

/// Every rank at most once: a thread locks in ascending order.
struct Held {
    std::array<LockRank, static_cast<std::size_t>(LockRank::kDevice) + 1> ranks;
    std::size_t count;
};
constinit thread_local Held held{};

}  // namespace

void check_lock_order(LockRank rank) {
    for (std::size_t i = 0; i < held.count; ++i) {
        if (held.ranks[i] < rank) continue;
        const std::string_view wanted = name_of(rank), before = name_of(held.ranks[i]);
        std::fprintf(stderr,
                     "lock order: \"%.*s\" is taken under \"%.*s\"; see docs/lock_order.md\n",
                     static_cast<int>(wanted.size()), wanted.data(),
                     static_cast<int>(before.size()), before.data());
        std::abort();
    }
    held.ranks[held.count++] = rank;
}

void forget_lock(LockRank rank) {
    for (std::size_t i = held.count; i > 0; --i) {
        if (held.ranks[i - 1] != rank) continue;
        for (; i < held.count; ++i) held.ranks[i - 1] = held.ranks[i];
        --held.count;
        return;
    }
}

}  // namespace detail
}  // namespace crab

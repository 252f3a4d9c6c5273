#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string_view>

namespace crab {

/// The rank of a mutex in the lock order: a thread locks in ascending rank, never two of one rank.
/// docs/lock_order.md lists who has which, in this order; a leaf mutex needs no rank.
enum class LockRank : std::uint8_t {
    kReload,
    kMcpServerList,
    kWorktreesFile,
    kProviderCall,
    kMetricsPage,
    kMcpServers,
    kPeersWriting,
    kTokensWriting,
    kLeasesWriting,
    kDeviceToolsWriting,
    kApprovalsWriting,
    kAuditStoring,
    kOAuthFile,
    kStore,
    kPeers,
    kTokens,
    kLeases,
    kDeviceTools,
    kApprovals,
    kApprovalFeed,
    kCallFeed,
    kAwayCalls,
    kUpstreams,
    kRegistry,
    kToolSchemas,
    kLedger,
    kLedgerJoins,
    kHub,
    kChat,
    kHostDirectory,
    kToolListing,
    kTurnEventLog,
    kEventOutbox,
    kGatewayTls,
    kCatalogs,
    kTaskWatches,
    kParkedCalls,
    kOAuthCredentials,
    kTimeZones,
    kDevice,  ///< the last
};

std::string_view name_of(LockRank rank);

namespace detail {
/// Ends the process with both names on stderr when this thread locks out of order.
void check_lock_order(LockRank rank);
void forget_lock(LockRank rank);
}  // namespace detail

/// A mutex with a rank. Builds with assertions check the order at every lock; in others it is
/// nothing but the mutex.
template <LockRank kRank, class Mutex = std::mutex>
class OrderedMutex {
public:
    void lock() {
        before();
        mutex_.lock();
    }
    void unlock() {
        mutex_.unlock();
        after();
    }
    void lock_shared()
        requires requires(Mutex& mutex) { mutex.lock_shared(); }
    {
        before();
        mutex_.lock_shared();
    }
    void unlock_shared()
        requires requires(Mutex& mutex) { mutex.unlock_shared(); }
    {
        mutex_.unlock_shared();
        after();
    }

private:
#ifdef NDEBUG
    static void before() {}
    static void after() {}
#else
    static void before() { detail::check_lock_order(kRank); }
    static void after() { detail::forget_lock(kRank); }
#endif

    Mutex mutex_;
};

template <LockRank kRank>
using OrderedSharedMutex = OrderedMutex<kRank, std::shared_mutex>;

}  // namespace crab

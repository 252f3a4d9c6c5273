#pragma once

#include "base/ordered_mutex.hpp"
#include "core/ledger/ledger_store.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/node_claim.hpp"
#include "store/postgres/owed_changes.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace crab::store::postgres {

/// Calls in the table `call`, one row for each key, and one decision for each ref in `call_end`,
/// ever: an outcome, a release, or that the row was taken over. A batch whose connection was lost
/// is sent again: by the refs, what was written is known. An end that lost to a take-over is
/// answered with kOpen. Ends and releases that the database does not take are kept in memory and
/// sent again, before all else and each second; so is the release of an admission whose answer was
/// lost. One connection, one lock. Thread-safe. Source: docs/protocols/fleet.md, section 6.
class LedgerStorePostgres final : public core::LedgerStore {
public:
    /// Of a process that is alone. The schema is there. Claims the node's next incarnation, which
    /// ends what another process of this number could write. Errors: those of Connection.
    static Result<std::unique_ptr<LedgerStorePostgres>> open(ConnectionOptions options,
                                                             std::int16_t node,
                                                             std::string_view name);
    /// Of a node of a fleet. What another node has admitted and not ended is kRunning until that
    /// one is silent. Who was fenced off writes neither admissions nor ends.
    LedgerStorePostgres(ConnectionOptions options, NodeRights rights);
    ~LedgerStorePostgres() override;

    std::vector<Result<core::LedgerEntry>> write(
        const std::vector<core::LedgerChange>& changes) override;
    Result<std::vector<core::UnfinishedCall>> unfinished() override;
    Result<void> mark_reported() override;
    Result<std::uint64_t> forget(SystemTime before) override;
    std::size_t owed() const override { return owed_count_; }

private:
    struct Batch;
    struct Known;

    LedgerStorePostgres(std::unique_ptr<Connection> database, NodeRights rights);
    core::LedgerRef next_ref(const core::LedgerAdmission& admission);
    Result<void> apply(Batch& batch);
    bool has_next_life(NodeClaim before) const;
    Result<void> apply_twice(Batch& batch);
    void owe(const Batch& batch, bool written);
    Result<void> send_owed();
    void keep_sending(const std::stop_token& stop);
    Result<void> write_releases(Batch& batch);
    Result<void> write_ends(Batch& batch);
    Result<void> write_admissions(Batch& batch);
    Result<void> read_others(Batch& batch);
    Result<std::vector<Known>> read(const Batch& batch, bool barrier);
    Result<core::LedgerEntry> decide(const core::LedgerAdmission& admission, core::LedgerRef ref,
                                     const Known& known);
    Result<core::LedgerEntry> adopt(const Known& known);
    Result<core::LedgerEntry> take_over(const core::LedgerAdmission& admission, core::LedgerRef ref,
                                        const Known& known);

    OrderedMutex<LockRank::kStore> mutex_;
    const std::unique_ptr<Connection> database_;
    const NodeRights rights_;
    const std::uint64_t boot_;  ///< the first half of its refs
    std::uint64_t last_ = 0;  ///< the second half
    OwedChanges owed_;
    std::atomic<std::size_t> owed_count_{0};
    std::condition_variable_any owes_;
    std::jthread sender_;  ///< of what is owed, once something was; last: it uses the rest
};

}  // namespace crab::store::postgres

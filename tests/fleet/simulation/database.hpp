#pragma once

#include "base/clock.hpp"
#include "core/ledger/ledger_store.hpp"
#include "fleet/node_table.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace crab::fleet::simulation {

/// A link as all nodes see it.
struct LinkRow {
    NodeName node;
    std::uint64_t connection = 0, epoch = 0;
    std::string slug;
};

/// The fleet's database in memory, with the rules of docs/protocols/fleet.md, section 6. What it
/// does not have of PostgreSQL: two transactions at once.
class Database {
public:
    /// Which of the rules are left out, to see that their absence is found.
    struct Without {
        bool fence = false;  ///< admissions of an incarnation that was fenced off are written
        bool seal = false;  ///< a take-over does not decide the old ref
        bool silence = false;  ///< what another node runs is taken over at once
        bool own_release = false;  ///< whoever asks releases a ref
        bool kept = false;  ///< a device may forget an answer before its end is stored
    };
    struct Row {
        core::LedgerRef ref;
        core::ContentDigest content{};
        NodeName owner;
        bool may_run_again = false, side_effects = true;
        std::uint64_t process = 0;  ///< of the device
        std::string tool, source;
        SystemTime admitted;
    };
    enum class Decision : std::uint8_t { kResult, kNothing, kSuperseded };
    struct End {
        Decision decision = Decision::kResult;
        std::shared_ptr<const core::Outcome> outcome;
        std::chrono::nanoseconds duration{0};
    };

    Without without;
    std::map<std::uint16_t, NodeRow> nodes;
    std::map<std::string, Row> calls;  ///< by tenant, principal and key
    std::map<std::uint64_t, End> ends;  ///< by the low half of the ref
    std::vector<LinkRow> links;
    std::uint64_t last_ref = 0, last_epoch = 0;

    const NodeRow* find(NodeName name) const {
        const auto row = nodes.find(name.number);
        return row != nodes.end() && row->second.name == name ? &row->second : nullptr;
    }
    bool lives(NodeName name) const {
        const NodeRow* const row = find(name);
        return row != nullptr && row->lives();
    }
    /// The newest link of each device, of nodes that live.
    std::vector<LinkRow> routes() const;
};

/// How one process reaches the database.
struct Wire {
    bool cut = false;  ///< nothing arrives
    bool answer_lost = false;  ///< the next commit stands, and its answer does not come
};

class NodeTableSimulated final : public NodeTable {
public:
    NodeTableSimulated(Database& database, Wire& wire) : database_(database), wire_(wire) {}
    Result<NodeName> begin(std::uint16_t number, std::uint32_t boot) override;
    Result<bool> renew(NodeName self) override;
    Result<std::vector<NodeRow>> read() override;
    Result<bool> fence(NodeName other, std::uint64_t beats) override;
    Result<void> leave(NodeName self) override;

private:
    Database& database_;
    Wire& wire_;
};

/// The ledger as one process writes it.
class LedgerStoreSimulated final : public core::LedgerStore {
public:
    struct Uses {
        Database& database;
        Wire& wire;
        std::function<NodeName()> self;
        std::function<bool(NodeName)> is_silent;
        std::function<void(const std::string& key)> on_commit, on_adopted;
        std::function<void(const std::string& key, const std::string& result)> on_unstored;
    };
    explicit LedgerStoreSimulated(Uses uses) : uses_(std::move(uses)) {}

    std::vector<Result<core::LedgerEntry>> write(
        const std::vector<core::LedgerChange>& changes) override;
    Result<std::vector<core::UnfinishedCall>> unfinished() override {
        return std::vector<core::UnfinishedCall>{};
    }
    Result<void> mark_reported() override { return {}; }
    Result<std::uint64_t> forget(SystemTime) override { return 0; }

private:
    core::LedgerEntry apply(const core::LedgerAdmission& admission);
    core::LedgerEntry apply(const core::LedgerEnd& end);
    core::LedgerEntry apply(const core::LedgerRelease& release);
    core::LedgerEntry apply(const core::LedgerQuestion& question);
    core::LedgerEntry decide(const core::LedgerAdmission& admission, const std::string& key);
    core::LedgerEntry insert(const core::LedgerAdmission& admission, const std::string& key);
    core::LedgerEntry entry_of(const Database::Row& row) const;
    void tell_unstored(const core::LedgerEnd& end) const;
    static std::string key_of(const std::string& tenant, const std::string& principal,
                              const std::string& key);

    Uses uses_;
    std::set<std::uint64_t> admitted_here_;
    /// Admissions whose answer was lost: nothing runs under them, so they are released
    std::vector<core::LedgerRef> uncertain_;
};

}  // namespace crab::fleet::simulation

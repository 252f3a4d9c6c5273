#pragma once

#include "core/ledger/ledger_store.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace crab::core {

/// For tests: keeps entries in memory, and fails on demand.
class LedgerStoreMemory final : public LedgerStore {
public:
    std::vector<Result<LedgerEntry>> write(const std::vector<LedgerChange>& changes) override {
        const std::scoped_lock lock(mutex_);
        ++commits_;
        std::vector<Result<LedgerEntry>> answers;
        for (const LedgerChange& change : changes)
            answers.push_back(std::visit([this](const auto& one) { return apply(one); }, change));
        return answers;
    }
    Result<std::vector<UnfinishedCall>> unfinished() override {
        return std::vector<UnfinishedCall>{};
    }
    Result<void> mark_reported() override { return {}; }
    Result<std::uint64_t> forget(SystemTime) override { return 0; }

    enum class Refuse : std::uint8_t { kNothing, kAll, kEnds };
    void refuse(Refuse what) {
        const std::scoped_lock lock(mutex_);
        refuse_ = what;
    }
    /// Makes all entries look like those of an older version.
    void forget_contents() {
        const std::scoped_lock lock(mutex_);
        for (auto& [key, kept] : entries_) kept.entry.content.reset();
    }
    std::size_t commits() const {
        const std::scoped_lock lock(mutex_);
        return commits_;
    }
    std::size_t entries() const {
        const std::scoped_lock lock(mutex_);
        return entries_.size();
    }
    /// As if another gateway ran this key: so many admissions are told so.
    void run_elsewhere(std::string key, int times) {
        const std::scoped_lock lock(mutex_);
        elsewhere_ = {std::move(key), times};
    }
    /// As if another gateway took over all that is open.
    void take_over() {
        const std::scoped_lock lock(mutex_);
        for (auto& [key, kept] : entries_) kept.entry.ref.low = next_++;
    }
    /// The audit record of the only entry.
    std::string record() const {
        const std::scoped_lock lock(mutex_);
        return entries_.size() == 1 ? entries_.begin()->second.record : "there is not one entry";
    }
    /// The request event of the only entry.
    std::string event() const {
        const std::scoped_lock lock(mutex_);
        return entries_.size() == 1 ? entries_.begin()->second.event : "there is not one entry";
    }

private:
    using Key = std::tuple<std::string, std::string, std::string>;
    struct Kept {
        LedgerEntry entry;
        std::string record, event;
        std::uint64_t process = 0;
    };
    static std::unexpected<Error> full() {
        return fail(ErrorCode::kUnavailable, "the disk is full");
    }

    Result<LedgerEntry> apply(const LedgerAdmission& wanted) {
        if (refuse_ == Refuse::kAll) return full();
        if (elsewhere_.first == wanted.key && elsewhere_.second-- > 0)
            return LedgerEntry{
                .status = LedgerStatus::kRunning, .outcome = {}, .admitted_at = wanted.at};
        const Key key{wanted.tenant, wanted.principal, wanted.key};
        const auto known = entries_.find(key);
        if (known != entries_.end()) {
            LedgerEntry entry = known->second.entry;
            if (entry.content != wanted.content)
                entry.status =
                    entry.content ? LedgerStatus::kConflict : LedgerStatus::kIncomparable;
            if (entry.status == LedgerStatus::kOpen && wanted.process != 0 &&
                wanted.process == known->second.process) {
                entry.status = LedgerStatus::kAdmitted;
                entry.adopted = true;
                return entry;
            }
            if (entry.status != LedgerStatus::kOpen || !wanted.may_run_again) return entry;
            entries_.erase(known);
        }
        LedgerEntry entry{.status = LedgerStatus::kOpen,
                          .ref = LedgerRef{.low = next_++},
                          .content = wanted.content,
                          .tool = wanted.tool,
                          .source = wanted.source,
                          .side_effects = wanted.side_effects,
                          .may_run_again = wanted.may_run_again,
                          .outcome = {},
                          .admitted_at = wanted.at};
        entries_.emplace(key, Kept{entry, wanted.record, wanted.event, wanted.process});
        entry.status = LedgerStatus::kAdmitted;
        return entry;
    }
    Result<LedgerEntry> apply(const LedgerEnd& end) {
        if (refuse_ != Refuse::kNothing) return full();
        for (auto& [key, kept] : entries_) {
            if (kept.entry.ref != end.ref) continue;
            LedgerEntry ended{.status = LedgerStatus::kFinished,
                              .ref = end.ref,
                              .outcome = {},
                              .admitted_at = {}};
            if (kept.entry.status == LedgerStatus::kFinished) return ended;
            kept.entry.status = LedgerStatus::kFinished;
            kept.entry.outcome = end.outcome;
            kept.entry.duration = end.duration;
            return ended;
        }
        return LedgerEntry{
            .status = LedgerStatus::kOpen, .ref = end.ref, .outcome = {}, .admitted_at = {}};
    }
    Result<LedgerEntry> apply(const LedgerQuestion& asked) {
        if (refuse_ == Refuse::kAll) return full();
        const auto known = entries_.find(Key{asked.tenant, asked.principal, asked.key});
        return known != entries_.end()
                   ? known->second.entry
                   : LedgerEntry{.status = LedgerStatus::kAbsent, .outcome = {}, .admitted_at = {}};
    }
    Result<LedgerEntry> apply(const LedgerRelease& release) {
        std::erase_if(entries_,
                      [&](const auto& kept) { return kept.second.entry.ref == release.ref; });
        return LedgerEntry{};
    }

    mutable std::mutex mutex_;
    std::map<Key, Kept> entries_;
    std::uint64_t next_ = 1;
    std::size_t commits_ = 0;
    std::pair<std::string, int> elsewhere_;
    Refuse refuse_ = Refuse::kNothing;
};

}  // namespace crab::core

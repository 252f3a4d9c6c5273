#include "store/postgres/owed_changes.hpp"

#include <string>

namespace crab::store::postgres {
namespace {

constexpr std::size_t kOfOneBatch = OwedChanges::kMostBytes / 8;
constexpr std::size_t kBesides = 128;  // what one takes with an outcome of no length

std::size_t bytes_of(const core::Outcome& outcome) {
    if (!outcome) return outcome.error().message.size() + outcome.error().details.size();
    std::size_t bytes = outcome->content.size();
    for (const std::string& line : outcome->logs) bytes += line.size();
    return bytes;
}

}  // namespace

bool OwedChanges::add(core::LedgerEnd end) {
    const std::size_t bytes = bytes_of(*end.outcome) + kBesides;
    return add(core::LedgerChange(std::move(end)), bytes);
}

bool OwedChanges::add(core::LedgerRelease release) {
    return add(core::LedgerChange(release), kBesides);
}

bool OwedChanges::add(core::LedgerChange change, std::size_t bytes) {
    if (waiting_.size() == kMost || bytes_ + bytes > kMostBytes) {
        ++dropped_;
        return false;
    }
    bytes_ += bytes;
    waiting_.emplace_back(std::move(change), bytes);
    return true;
}

std::vector<core::LedgerChange> OwedChanges::oldest(std::size_t most) const {
    std::vector<core::LedgerChange> changes;
    std::size_t bytes = 0;
    for (const auto& [change, size] : waiting_) {
        bytes += size;
        if (!changes.empty() && (changes.size() == most || bytes > kOfOneBatch)) break;
        changes.push_back(change);
    }
    return changes;
}

void OwedChanges::remove_oldest(std::size_t count) {
    for (; count > 0; --count) {
        bytes_ -= waiting_.front().second;
        waiting_.pop_front();
    }
}

}  // namespace crab::store::postgres

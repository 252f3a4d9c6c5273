#include "trust/peers.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace crab::trust {
namespace {

constexpr std::chrono::minutes kSeenAtMostEvery{1};

/// What has happened to a record that was `before`, which may be null; nothing: at most it was
/// seen.
std::optional<PeerChange::Kind> kind_of_change(const PeerRecord* before, const PeerRecord& now) {
    using Kind = PeerChange::Kind;
    if (before == nullptr || before->status == PeerStatus::kPending) return Kind::kPaired;
    PeerRecord seen = *before;
    seen.last_seen_at = now.last_seen_at;
    if (seen == now) return std::nullopt;
    if (now.status == PeerStatus::kRevoked) return Kind::kRevoked;
    if (before->mtls_cert_fingerprint != now.mtls_cert_fingerprint)
        return before->paired_at == now.paired_at ? Kind::kRenewed : Kind::kPaired;
    return before->status != now.status ? Kind::kStatus : Kind::kToolUrl;
}

}  // namespace

Result<std::unique_ptr<Peers>> Peers::load(PeerStore& store) {
    auto stored = store.list_peers();
    if (!stored) return fail(std::move(stored.error()));
    std::unique_ptr<Peers> peers(new Peers(store));
    for (PeerRecord& record : *stored) peers->replace(std::move(record));
    return peers;
}

Peers::Known Peers::Entry::known() const {
    Known known{*record, problem};
    known.record.last_seen_at = seen;
    return known;
}

PeerRef Peers::find(const PeerName& name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(name.text());
    return found == entries_.end() ? nullptr : found->second.record;
}

std::optional<Peers::Known> Peers::show(const PeerName& name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(name.text());
    return found == entries_.end() ? std::nullopt : std::optional(found->second.known());
}

std::vector<Peers::Known> Peers::list() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Known> all;
    for (const auto& [name, entry] : entries_) all.push_back(entry.known());
    return all;
}

void Peers::saw(const PeerName& name, SystemTime at) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(name.text());
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    entry.problem.clear();
    if (entry.seen && at - *entry.seen < kSeenAtMostEvery) return;
    entry.seen = at;
    entry.seen_is_stored = false;
}

void Peers::mistrust(const PeerName& name, std::string problem) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(name.text());
    if (found != entries_.end()) found->second.problem = std::move(problem);
}

Result<void> Peers::store_seen() {
    std::vector<std::pair<PeerName, SystemTime>> seen;
    {
        const std::scoped_lock lock(mutex_);
        for (auto& [name, entry] : entries_) {
            if (!std::exchange(entry.seen_is_stored, true))
                seen.emplace_back(entry.record->name, *entry.seen);
        }
    }
    Result<void> outcome;
    for (const auto& [name, at] : seen) {
        if (auto stored = store_.record_seen(name, at); !stored) {
            const std::scoped_lock lock(mutex_);
            entries_.at(name.text()).seen_is_stored = false;
            outcome = std::move(stored);
        }
    }
    return outcome;
}

Result<void> Peers::add_certificate(const PeerCertificate& certificate, const PeerRecord& pending) {
    const std::scoped_lock writing(writing_);
    auto added = store_.add_certificate(certificate, pending);
    if (!added) return added;
    const PeerRef known = find(pending.name);
    // nobody uses it before it is active
    if (!known || known->status == PeerStatus::kPending) replace(pending);
    return added;
}

Result<void> Peers::commit(const PairingCommit& commit) {
    const std::scoped_lock writing(writing_);
    auto committed = store_.commit(commit);
    if (!committed) return committed;
    const PeerRecord& now = commit.record;
    if (now.status == PeerStatus::kActive) {
        for (Known& other : list()) {
            if (other.record.name == now.name || other.record.status != PeerStatus::kActive ||
                other.record.endpoint != now.endpoint)
                continue;
            other.record.status = PeerStatus::kInactive;  // as the store has done
            remember(PeerChange::Kind::kStatus, std::move(other.record));
        }
    }
    const bool is_renewal = commit.previous && commit.previous->status == PeerStatus::kActive &&
                            commit.previous->paired_at == now.paired_at;
    remember(is_renewal ? PeerChange::Kind::kRenewed : PeerChange::Kind::kPaired, now);
    return committed;
}

Result<PeerRecord> Peers::set_status(const PeerName& name, PeerStatus status) {
    const std::scoped_lock writing(writing_);
    return changed(PeerChange::Kind::kStatus, store_.set_status(name, status));
}

Result<PeerRecord> Peers::set_tool_url(const PeerName& name, std::string_view url) {
    const std::scoped_lock writing(writing_);
    return changed(PeerChange::Kind::kToolUrl, store_.set_tool_url(name, url));
}

Result<PeerRecord> Peers::revoke(const PeerName& name, std::string_view reason, SystemTime at) {
    const std::scoped_lock writing(writing_);
    return changed(PeerChange::Kind::kRevoked, store_.revoke(name, reason, at));
}

Result<void> Peers::refresh() {
    const std::scoped_lock writing(writing_);
    auto stored = store_.list_peers();
    if (!stored) return fail(std::move(stored.error()));
    for (PeerRecord& record : *stored) {
        const PeerRef known = find(record.name);
        if (record.status == PeerStatus::kPending) {  // nobody uses it before it is active
            if (!known || known->status == PeerStatus::kPending) replace(std::move(record));
            continue;
        }
        if (const auto kind = kind_of_change(known.get(), record))
            remember(*kind, std::move(record));
    }
    return {};
}

Result<void> Peers::record_seen(const PeerName& name, SystemTime at) {
    saw(name, at);
    return store_.record_seen(name, at);
}

Result<PeerRecord> Peers::changed(PeerChange::Kind kind, Result<PeerRecord> record) {
    if (record) remember(kind, *record);
    return record;
}

void Peers::remember(PeerChange::Kind kind, PeerRecord record) {
    const PeerName name = record.name;
    const PeerRef before = replace(std::move(record));
    const bool was_known = before && before->status != PeerStatus::kPending;
    const PeerChange change{
        .kind = kind, .peer = find(name), .before = was_known ? before : nullptr};
    for (const auto& told : told_) told(change);
}

/// Returns what was there.
PeerRef Peers::replace(PeerRecord record) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[record.name.text()];
    if (!entry.seen || (record.last_seen_at && *record.last_seen_at > *entry.seen))
        entry.seen = record.last_seen_at;
    entry.problem.clear();
    return std::exchange(entry.record, std::make_shared<const PeerRecord>(std::move(record)));
}

}  // namespace crab::trust

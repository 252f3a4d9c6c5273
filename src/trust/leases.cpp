#include "trust/leases.hpp"

#include "base/log.hpp"
#include "crypto/random.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::size_t kLeaseIdBytes = 16;
constexpr std::string_view kNoLease = "no such lease, or it has ended; make another one";

}  // namespace

Leases::Entry::Entry(Lease made, SteadyTime now, Milliseconds left)
    : lease(std::move(made)), named_at(now), ends_at(now + left) {
    for (const std::string& capability : lease.capabilities) capabilities.emplace_back(capability);
}

Result<std::unique_ptr<Leases>> Leases::load(LeaseStore& store, const Clock& clock, Options options,
                                             Observer observer) {
    auto stored = store.load_live(clock.system_now());
    if (!stored) return fail(std::move(stored.error()));
    std::unique_ptr<Leases> leases(new Leases(store, clock, options, std::move(observer)));
    for (Lease& lease : *stored) {
        std::string id = lease.id;
        const Milliseconds left = leases->time_left(lease);
        leases->entries_.try_emplace(std::move(id), std::move(lease), clock.steady_now(), left);
    }
    leases->end_if("the gateway started again",
                   [](const Lease& lease) { return lease.disconnect_bound; });
    return leases;
}

Milliseconds Leases::time_left(const Lease& lease) const {
    return std::min(lease.ttl,
                    std::chrono::ceil<Milliseconds>(lease.expires_at - clock_.system_now()));
}

void Leases::set_options(Options options) {
    const std::scoped_lock lock(mutex_);
    options_ = options;
}

Result<Lease> Leases::make(std::string_view owner, LeaseRequest request) {
    const std::scoped_lock writing(writing_);
    Lease lease{.id = crypto::random_hex(kLeaseIdBytes),
                .owner = std::string(owner),
                .tenant_id = std::move(request.tenant_id),
                .agent_id = std::move(request.agent_id),
                .session_id = std::move(request.session_id),
                .capabilities = std::move(request.capabilities),
                .disconnect_bound = request.disconnect_bound,
                .ttl = {},
                .issued_at = clock_.system_now(),
                .expires_at = {},
                .revoked_at = {},
                .revoke_reason = {}};
    {
        const std::scoped_lock lock(mutex_);
        lease.ttl = request.ttl.value_or(options_.ttl);
        if (lease.capabilities.empty())
            return fail(ErrorCode::kInvalidArgs, "/capabilities: name at least one action");
        if (lease.ttl.count() < 1 || lease.ttl > options_.max_ttl)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("/ttl_ms: 1 to {}", options_.max_ttl.count()));
        const auto held = std::ranges::count_if(entries_, [&](const auto& each) {
            return each.second.lease.owner == owner && lives(each.second);
        });
        if (static_cast<std::size_t>(held) >= options_.max_per_owner) {
            return fail(ErrorCode::kRateLimited,
                        fmt::format("{} leases at once are the most for one peer; delete one",
                                    options_.max_per_owner));
        }
    }
    lease.expires_at = lease.issued_at + lease.ttl;
    if (auto stored = store_.insert(lease); !stored) return fail(std::move(stored.error()));
    const std::scoped_lock lock(mutex_);
    entries_.try_emplace(lease.id, lease, clock_.steady_now(), lease.ttl);
    tell("granted", lease);
    return lease;
}

Result<Lease> Leases::renew(std::string_view lease_id) {
    const std::scoped_lock writing(writing_);
    const SystemTime now = clock_.system_now();
    SystemTime expires_at;
    Milliseconds ttl;
    {
        const std::scoped_lock lock(mutex_);
        const Entry* entry = find_living(lease_id);
        if (entry == nullptr) return fail(ErrorCode::kNotFound, std::string(kNoLease));
        const SystemTime from = entry->lease.expires_at - options_.renewal_window;
        if (now < from)
            return fail(ErrorCode::kConflict,
                        fmt::format("the lease can be renewed from {} on", to_rfc3339(from)));
        ttl = std::min(entry->lease.ttl, options_.max_ttl);
        expires_at = now + ttl;
    }
    if (auto stored = store_.set_expiry(lease_id, expires_at); !stored)
        return fail(std::move(stored.error()));
    const std::scoped_lock lock(mutex_);
    // it may have ended meanwhile; a stored end is not undone by a later expiry
    Entry* entry = find_living(lease_id);
    if (entry == nullptr) return fail(ErrorCode::kNotFound, std::string(kNoLease));
    entry->lease.expires_at = expires_at;
    entry->ends_at = clock_.steady_now() + ttl;
    tell("renewed", entry->lease);
    return entry->lease;
}

Result<Lease> Leases::revoke(std::string_view lease_id, std::string_view reason) {
    std::optional<Lease> ended;
    {
        const std::scoped_lock lock(mutex_);
        if (Entry* entry = find_living(lease_id)) {
            ended = end(*entry, reason);
            entries_.erase(entries_.find(lease_id));
        }
    }
    if (!ended) return fail(ErrorCode::kNotFound, std::string(kNoLease));
    if (auto stored = flush(); !stored) return fail(std::move(stored.error()));
    return std::move(*ended);
}

Result<std::size_t> Leases::revoke_owner(std::string_view owner, std::string_view reason) {
    const std::size_t ended =
        end_if(reason, [&](const Lease& lease) { return lease.owner == owner; });
    if (auto stored = flush(); !stored) return fail(std::move(stored.error()));
    return ended;
}

Result<std::size_t> Leases::end_session(const core::Principal& owner, std::string_view session_id,
                                        SystemTime began) {
    // stores keep milliseconds
    const auto first = std::chrono::floor<Milliseconds>(began);
    const std::size_t ended = end_if("its session is closed", [&](const Lease& lease) {
        return lease.session_id == session_id && lease.issued_at >= first &&
               owner.may_act_in(lease.tenant_id);
    });
    if (auto stored = flush(); !stored) return fail(std::move(stored.error()));
    return ended;
}

Result<void> Leases::flush() {
    const std::scoped_lock writing(writing_);
    std::vector<LeaseEnd> ends;
    {
        const std::scoped_lock lock(mutex_);
        for (auto& [id, entry] : entries_) {
            if (has_expired(entry))
                tell("expired", entry.lease);
            else if (!lives(entry))
                end(entry, "nothing named it");
        }
        std::erase_if(entries_, [&](const auto& each) { return !lives(each.second); });
        ends = unsaved_;
    }
    if (ends.empty()) return {};
    if (auto stored = store_.end(ends); !stored) return stored;
    const std::scoped_lock lock(mutex_);
    unsaved_.erase(unsaved_.begin(), unsaved_.begin() + static_cast<std::ptrdiff_t>(ends.size()));
    return {};
}

/// The caller holds mutex_.
void Leases::take(Lease stored) {
    const auto has_ended_here = [&](const LeaseEnd& end) { return end.lease_id == stored.id; };
    if (std::ranges::any_of(unsaved_, has_ended_here)) return;
    const Milliseconds left = time_left(stored);
    const auto known = entries_.find(stored.id);
    if (known == entries_.end()) {
        std::string id = stored.id;
        Entry& entry =
            entries_.try_emplace(std::move(id), std::move(stored), clock_.steady_now(), left)
                .first->second;
        if (entry.lease.disconnect_bound) {
            end(entry, "its node has ended");
            entries_.erase(entry.lease.id);
        }
    } else if (known->second.lease.expires_at < stored.expires_at) {
        known->second.lease.expires_at = stored.expires_at;
        known->second.ends_at = clock_.steady_now() + left;
    }
}

Result<void> Leases::refresh() {
    const std::scoped_lock writing(writing_);
    auto stored = store_.load_live(clock_.system_now());
    if (!stored) return fail(std::move(stored.error()));
    std::set<std::string, std::less<>> living;
    for (const Lease& lease : *stored) living.insert(lease.id);
    const std::scoped_lock lock(mutex_);
    std::erase_if(entries_, [&](const auto& each) {
        // one that has just expired here is told as that by flush()
        if (living.contains(each.first) || has_expired(each.second)) return false;
        Lease ended = each.second.lease;
        ended.revoked_at = clock_.system_now();
        ended.revoke_reason = "another node has ended it";
        tell("ended", ended);
        return true;
    });
    for (Lease& lease : *stored) take(std::move(lease));
    return {};
}

Result<void> Leases::forget(SystemTime before) {
    const std::scoped_lock writing(writing_);
    return store_.forget(before);
}

std::optional<Lease> Leases::find(std::string_view lease_id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(lease_id);
    return found != entries_.end() && lives(found->second) ? std::optional(found->second.lease)
                                                           : std::nullopt;
}

std::vector<Lease> Leases::list(std::string_view owner) const {
    std::vector<Lease> all;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [id, entry] : entries_) {
            if ((owner.empty() || entry.lease.owner == owner) && lives(entry))
                all.push_back(entry.lease);
        }
    }
    std::ranges::sort(all, {},
                      [](const Lease& lease) { return std::pair(lease.issued_at, lease.id); });
    return all;
}

std::optional<std::string> Leases::refuses(std::string_view lease_id,
                                           const core::Principal& principal,
                                           std::string_view action, const ActionScope& scope) {
    const std::scoped_lock lock(mutex_);
    Entry* const entry = find_living(lease_id);
    if (entry == nullptr || entry->lease.owner != principal.id)
        return "lease: it is unknown, has ended or is another principal's";
    entry->named_at = clock_.steady_now();
    const Lease& lease = entry->lease;
    const Glob asked{std::string(action)};
    const bool granted = std::ranges::any_of(entry->capabilities,
                                             [&](const Glob& glob) { return glob.covers(asked); });
    if (!granted)
        return fmt::format("lease {}: the action is not among its capabilities", lease.id);
    const auto fits = [](std::string_view wanted, const std::string& granted_for) {
        return wanted.empty() || wanted == granted_for;
    };
    if (!fits(scope.tenant, lease.tenant_id))
        return fmt::format("lease {}: it is for tenant {}", lease.id, lease.tenant_id);
    if (!fits(scope.agent_id, lease.agent_id))
        return fmt::format("lease {}: it is for agent {}", lease.id, lease.agent_id);
    if (!fits(scope.session_id, lease.session_id))
        return fmt::format("lease {}: it is for session {}", lease.id, lease.session_id);
    return std::nullopt;
}

void Leases::stream_began(std::string_view lease_id) {
    const std::scoped_lock lock(mutex_);
    if (Entry* entry = find_living(lease_id)) ++entry->streams;
}

void Leases::stream_ended(std::string_view lease_id) {
    const std::scoped_lock lock(mutex_);
    Entry* const entry = find_living(lease_id);
    if (entry == nullptr || entry->streams == 0 || --entry->streams > 0 ||
        !entry->lease.disconnect_bound)
        return;
    end(*entry, "its stream has ended");
    entries_.erase(entries_.find(lease_id));
}

bool Leases::lives(const Entry& entry) const {
    if (entry.lease.revoked_at || has_expired(entry)) return false;
    return !entry.lease.disconnect_bound || entry.streams > 0 ||
           clock_.steady_now() < entry.named_at + options_.unnamed;
}

Leases::Entry* Leases::find_living(std::string_view lease_id) {
    const auto found = entries_.find(lease_id);
    return found != entries_.end() && lives(found->second) ? &found->second : nullptr;
}

Lease Leases::end(Entry& entry, std::string_view reason) {
    entry.lease.revoked_at = clock_.system_now();
    entry.lease.revoke_reason = reason;
    unsaved_.push_back({.lease_id = entry.lease.id,
                        .at = *entry.lease.revoked_at,
                        .reason = entry.lease.revoke_reason});
    tell("ended", entry.lease);
    return entry.lease;
}

void Leases::tell(std::string_view what, const Lease& lease) const {
    log::info(fmt::format("lease {}", what),
              {{"lease_id", lease.id}, {"peer_id", lease.owner}, {"reason", lease.revoke_reason}});
    if (observer_) observer_(what, lease);
}

std::size_t Leases::end_if(std::string_view reason, auto matches) {
    const std::scoped_lock lock(mutex_);
    std::size_t ended = 0;
    for (auto& [id, entry] : entries_) {
        if (!lives(entry) || !matches(entry.lease)) continue;
        end(entry, reason);
        ++ended;
    }
    std::erase_if(entries_,
                  [](const auto& each) { return each.second.lease.revoked_at.has_value(); });
    return ended;
}

}  // namespace crab::trust

#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "base/ordered_mutex.hpp"
#include "base/result.hpp"
#include "trust/access.hpp"
#include "trust/lease_store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// The leases of this gateway. A lease ends by expiry, by revocation (its own or its owner's), with
/// its session, and, if it is disconnect-bound, with the last stream that used it or when it is
/// unused for a while. An end takes effect immediately and is stored soon after. Thread-safe. The
/// functions of the first group write to the store and may block; those of the second are quick.
/// Source: docs/protocols/rtp.md, section 8.
class Leases {
public:
    struct Options {
        Milliseconds ttl = std::chrono::hours(1);
        Milliseconds max_ttl = std::chrono::hours(24);
        Milliseconds renewal_window = std::chrono::minutes(5);
        std::size_t max_per_owner = 16;
        /// How long a disconnect-bound lease lasts without being used
        Milliseconds unnamed = std::chrono::seconds(30);
    };

    /// Is notified of each lease that was `granted` or `renewed`, has `ended` or `expired`; quick,
    /// and asks nothing of the leases.
    using Observer = std::function<void(std::string_view what, const Lease& lease)>;

    /// Reads the store once. Leases that were bound to connections ended with the process that had
    /// them. `observer` may be empty. Errors: those of the store.
    static Result<std::unique_ptr<Leases>> load(LeaseStore& store, const Clock& clock,
                                                Options options, Observer observer = {});
    /// For leases that are made or renewed from now on.
    void set_options(Options options);

    /// Makes a lease for `owner`; the caller has checked its rights. Errors: kInvalidArgs (nothing
    /// asked for, longer than max_ttl), kRateLimited (too many at once), those of the store.
    Result<Lease> make(std::string_view owner, LeaseRequest request);
    /// Renews a lease: its TTL starts again from now. Errors: kNotFound, kConflict before the
    /// renewal window, those of the store.
    Result<Lease> renew(std::string_view lease_id);
    /// Errors: kNotFound; those of the store, and then it has ended all the same.
    Result<Lease> revoke(std::string_view lease_id, std::string_view reason);
    /// Ends all leases of a principal, such as a peer that was revoked; returns how many. Errors as
    /// above.
    Result<std::size_t> revoke_owner(std::string_view owner, std::string_view reason);
    /// Ends the leases of a session of `owner` that began at `began` and is over, in the tenants
    /// that are its own. Older leases are not of it: they were made for another of that name, or
    /// before there was one, and somebody else who takes the name must not end them. Errors as
    /// above.
    Result<std::size_t> end_session(const core::Principal& owner, std::string_view session_id,
                                    SystemTime began);
    /// Stores what has ended since, and drops what has expired; call it every second or so. Errors:
    /// those of the store; it tries again.
    Result<void> flush();
    /// Takes from the store what other nodes have granted, renewed and ended, and ends what was
    /// bound to a node that has ended. Errors: those of the store.
    Result<void> refresh();
    /// Removes what ended long ago from the store.
    Result<void> forget(SystemTime before);

    /// An active lease.
    std::optional<Lease> find(std::string_view lease_id) const;
    /// The active leases of `owner`, or of all when it is empty, oldest first.
    std::vector<Lease> list(std::string_view owner) const;
    /// Why this lease does not cover `action` for `principal` in `scope`; nothing if it does.
    /// Counts as a use of the lease.
    std::optional<std::string> refuses(std::string_view lease_id, const core::Principal& principal,
                                       std::string_view action, const ActionScope& scope);
    void stream_began(std::string_view lease_id);
    void stream_ended(std::string_view lease_id);

private:
    struct Entry {
        Entry(Lease made, SteadyTime now, Milliseconds left);
        Lease lease;
        std::vector<Glob> capabilities;
        std::size_t streams = 0;
        SteadyTime named_at;
        /// Beside `lease.expires_at`: a system clock that is set back lengthens nothing
        SteadyTime ends_at;
    };
    using Entries = std::map<std::string, Entry, std::less<>>;

    Leases(LeaseStore& store, const Clock& clock, Options options, Observer observer)
        : store_(store), clock_(clock), observer_(std::move(observer)), options_(options) {}
    void tell(std::string_view what, const Lease& lease) const;
    // Callers hold mutex_.
    bool lives(const Entry& entry) const;
    bool has_expired(const Entry& entry) const {
        return clock_.system_now() >= entry.lease.expires_at ||
               clock_.steady_now() >= entry.ends_at;
    }
    Entry* find_living(std::string_view lease_id);
    Lease end(Entry& entry, std::string_view reason);
    std::size_t end_if(std::string_view reason, auto matches);
    void take(Lease stored);
    Milliseconds time_left(const Lease& lease) const;

    LeaseStore& store_;
    const Clock& clock_;
    const Observer observer_;
    /// Taken before mutex_, held across the store's work.
    OrderedMutex<LockRank::kLeasesWriting> writing_;
    mutable OrderedMutex<LockRank::kLeases> mutex_;  ///< never held across the store's work
    Options options_;
    Entries entries_;  ///< active ones, and those that expired since the last flush()
    std::vector<LeaseEnd> unsaved_;  ///< ended, not stored yet
};

}  // namespace crab::trust

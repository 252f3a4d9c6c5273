#include "push/subscriptions.hpp"

#include "base/log.hpp"
#include "crypto/random.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crab::push {
namespace {

constexpr std::size_t kIdBytes = 8;

}  // namespace

Result<void> Subscriptions::load() {
    auto all = store_->load_all();
    if (!all) return fail(all.error());
    std::vector<std::string> gone;
    std::erase_if(*all, [&](const Subscription& each) {
        const bool ends = !is_good_(each);
        if (ends) gone.push_back(each.id);
        return ends;
    });
    const std::scoped_lock lock(mutex_);
    kept_ = std::move(*all);
    return store_->remove(gone);
}

Result<Subscription> Subscriptions::add(Subscription wanted, Purpose purpose) {
    wanted.id = (purpose == Purpose::kWaking ? "w" : "") + crypto::random_hex(kIdBytes);
    wanted.created_at = clock_.system_now();
    if (auto kept = keep(wanted); !kept) return fail(std::move(kept.error()));
    if (auto stored = store_->insert(wanted); !stored) {
        forget([&](const Subscription& each) { return each.id == wanted.id; });
        return fail(std::move(stored.error()));
    }
    tell();
    // A revocation in between has not seen it.
    if (is_good_(wanted)) return wanted;
    remove_those([&](const Subscription& each) { return each.id == wanted.id; });
    return fail(ErrorCode::kForbidden, "this was revoked just now");
}

/// Makes room for it in memory, where it counts from now on.
Result<void> Subscriptions::keep(const Subscription& wanted) {
    const std::scoped_lock lock(mutex_);
    const auto same = std::ranges::find(kept_, wanted.endpoint, &Subscription::endpoint);
    if (same != kept_.end() && same->principal != wanted.principal)
        return fail(ErrorCode::kForbidden, "this browser is subscribed for somebody else");
    std::size_t alike = 0, its = 0;
    for (const Subscription& each : kept_) {
        if (each.purpose() != wanted.purpose()) continue;
        ++alike;
        if (each.principal == wanted.principal) ++its;
    }
    if (same == kept_.end() && (alike >= kMost || its >= kMostOfOnePrincipal))
        return fail(ErrorCode::kConflict,
                    "too many browsers are subscribed already: remove one first");
    if (same != kept_.end()) kept_.erase(same);
    kept_.push_back(wanted);
    return {};
}

std::vector<std::string> Subscriptions::forget(
    const std::function<bool(const Subscription&)>& which) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> gone;
    std::erase_if(kept_, [&](const Subscription& each) {
        const bool ends = which(each);
        if (ends) gone.push_back(each.id);
        return ends;
    });
    return gone;
}

Result<void> Subscriptions::remove(std::string_view id, std::string_view principal) {
    const auto gone = forget(
        [&](const Subscription& each) { return each.id == id && each.principal == principal; });
    if (gone.empty()) return fail(ErrorCode::kNotFound, "you have no such subscription");
    tell();
    return store_->remove(gone);
}

void Subscriptions::remove_those(const std::function<bool(const Subscription&)>& which) {
    const auto gone = forget(which);
    if (gone.empty()) return;
    tell();
    if (const auto removed = store_->remove(gone); !removed)
        log::warn("ended push subscriptions stay stored", {{"reason", removed.error().message}});
}

void Subscriptions::forget_ended() {
    remove_those([&](const Subscription& each) { return !is_good_(each); });
}

/// The good ones among those that `which` says.
std::vector<Subscription> Subscriptions::good_ones(
    const std::function<bool(const Subscription&)>& which) const {
    std::vector<Subscription> meant;
    {
        const std::scoped_lock lock(mutex_);
        std::ranges::copy_if(kept_, std::back_inserter(meant), which);
    }
    // What has expired is told nothing, also before it is forgotten.
    std::erase_if(meant, [&](const Subscription& each) { return !is_good_(each); });
    return meant;
}

std::vector<Subscription> Subscriptions::list(Purpose purpose) const {
    return good_ones([&](const Subscription& each) { return each.purpose() == purpose; });
}

std::vector<Subscription> Subscriptions::of_device(std::string_view principal) const {
    return good_ones([&](const Subscription& each) {
        return each.purpose() == Purpose::kWaking && each.principal == principal;
    });
}

std::optional<Subscription> Subscriptions::find(std::string_view id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(kept_, id, &Subscription::id);
    return found == kept_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace crab::push

#include "trust/open_codes.hpp"

#include "crypto/digest.hpp"

#include <algorithm>
#include <utility>

namespace crab::trust {

Result<void> OpenCodes::open(NewCode code, std::size_t most) {
    const SteadyTime now = clock_.steady_now();
    const std::scoped_lock lock(mutex_);
    drop_expired();
    if (open_.size() >= most)
        return too_many(std::chrono::ceil<Milliseconds>(open_.front().expires_at - now));
    recent_.push_back({.id = code.id, .state = "open", .device = {}});
    if (recent_.size() > kRemembered) recent_.pop_front();
    open_.push_back(
        {.code = {.id = std::move(code.id), .offer = std::move(code.offer), .vouched_key = {}},
         .form = std::move(code.form),
         .expires_at = now + code.lifetime});
    return {};
}

Result<void> OpenCodes::end(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    drop_expired();
    const auto erased = std::erase_if(
        open_, [&](const Open& open) { return open.code.id == id && !open.is_taken; });
    if (erased == 0) return no_such_pairing();
    note(id, "ended");
    return {};
}

Result<void> OpenCodes::vouch(Forms forms, std::string_view public_key) {
    const std::scoped_lock lock(mutex_);
    drop_expired();
    Open* const match = find(forms);
    if (match == nullptr || !match->code.offer.roles.has(core::Role::kDevice))
        return nothing_to_vouch_for();
    match->code.vouched_key = public_key;
    return {};
}

Result<TakenCode> OpenCodes::take(Forms forms, int wrong_tries) {
    const std::scoped_lock lock(mutex_);
    drop_expired();
    if (std::ranges::all_of(open_, &Open::is_taken)) return none_open();
    Open* const match = find(forms);
    if (match == nullptr) {
        count_wrong_try(wrong_tries);
        return wrong();
    }
    match->is_taken = true;
    return match->code;
}

Result<void> OpenCodes::settle(const TakenCode& code, const std::optional<std::string>& slug) {
    const std::scoped_lock lock(mutex_);
    const auto found =
        std::ranges::find(open_, code.id, [](const Open& open) { return open.code.id; });
    if (found == open_.end()) return {};
    found->is_taken = false;
    if (!slug) return {};
    note(code.id, "paired", *slug);
    open_.erase(found);
    return {};
}

Result<std::vector<PairingProgress>> OpenCodes::recent() {
    const std::scoped_lock lock(mutex_);
    drop_expired();
    return std::vector<PairingProgress>(recent_.begin(), recent_.end());
}

void OpenCodes::note(std::string_view id, std::string_view state, std::string_view device) {
    const auto found = std::ranges::find(recent_, id, &PairingProgress::id);
    if (found == recent_.end()) return;
    found->state = state;
    found->device = device;
}

void OpenCodes::drop_expired() {
    const SteadyTime now = clock_.steady_now();
    std::erase_if(open_, [&](const Open& open) {
        if (open.is_taken || open.expires_at > now) return false;
        note(open.code.id, "expired");
        return true;
    });
}

OpenCodes::Open* OpenCodes::find(Forms forms) {
    Open* match = nullptr;
    // compare all codes, for constant time
    for (Open& open : open_) {
        for (const std::string& form : forms)
            if (crypto::constant_time_equal(open.form, form) && !open.is_taken) match = &open;
    }
    return match;
}

void OpenCodes::count_wrong_try(int most) {
    std::erase_if(open_, [&](Open& open) {
        if (open.is_taken || ++open.wrong_tries < most) return false;
        note(open.code.id, "ended");
        return true;
    });
}

}  // namespace crab::trust

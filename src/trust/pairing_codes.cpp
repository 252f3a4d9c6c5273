#include "trust/pairing_codes.hpp"

#include "base/log.hpp"
#include "crypto/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace crab::trust {
namespace {

constexpr std::uint64_t kCodes = 1'000'000'000'000;  // twelve digits: 40 bits
constexpr std::size_t kIdBytes = 8;
constexpr auto kTriesCounted = std::chrono::minutes(1);

std::string digits_of(std::string_view code) {
    std::string digits;
    for (const char c : code) {
        if (c != '-' && c != ' ') digits += c;
    }
    return digits;
}

IssueRequest request_for(const PairingOffer& offer) {
    return {.name = offer.name,
            .roles = offer.roles,
            .tenants = offer.tenants,
            .lifetime = offer.lifetime,
            .device = offer.device};
}

std::unexpected<Error> limited(const char* message, SteadyTime::duration wait) {
    Error error{.code = ErrorCode::kRateLimited, .message = message};
    error.retry_after = std::chrono::ceil<Milliseconds>(wait);
    return fail(std::move(error));
}

}  // namespace

Result<DeviceCode> PairingCodes::open(PairingOffer offer) {
    if (offer.name.empty()) offer.name = "Device";
    if (auto good = tokens_.check(request_for(offer)); !good) return fail(std::move(good.error()));
    const std::string digits = fmt::format("{:012}", crypto::random_below(kCodes));
    const std::string id = crypto::random_hex(kIdBytes);
    auto opened = shelf_.open({.id = id,
                               .form = forms_of(digits).front(),
                               .offer = std::move(offer),
                               .lifetime = options_.lifetime},
                              options_.max_open);
    if (!opened) return fail(std::move(opened.error()));
    (void)refresh();
    return DeviceCode{
        .id = id,
        .code = Secret(digits.substr(0, 4) + '-' + digits.substr(4, 4) + '-' + digits.substr(8)),
        .expires_at = clock_.system_now() + options_.lifetime};
}

Result<void> PairingCodes::end(std::string_view id) {
    auto ended = shelf_.end(id);
    (void)refresh();
    return ended;
}

Result<void> PairingCodes::vouch(std::string_view code, std::string public_key) {
    return shelf_.vouch(forms_of(code), public_key);
}

Result<IssuedToken> PairingCodes::redeem(std::string_view code, std::string_view remote_address,
                                         std::string public_key) {
    if (auto counted = count_try(remote_address, clock_.steady_now()); !counted)
        return fail(std::move(counted.error()));
    const auto taken = shelf_.take(forms_of(code), options_.wrong_tries);
    if (!taken) return fail(taken.error());
    const PairingOffer& offer = taken->offer;
    IssueRequest request = request_for(offer);
    request.public_key = std::move(public_key);
    // A person's key is for signing in to the console.
    request.for_console = !request.public_key.empty() && !offer.roles.has(core::Role::kDevice);
    if (!request.public_key.empty() && request.public_key == taken->vouched_key)
        request.roles.add(core::Role::kTrustedDevice);
    auto issued = tokens_.issue(request);
    // without a token the code stays valid for another try
    const auto settled = shelf_.settle(*taken, issued ? std::optional(issued->slug) : std::nullopt);
    if (!settled)
        log::warn("what became of a pairing code was not stored",
                  {{"pairing", taken->id}, {"reason", settled.error().message}});
    (void)refresh();
    return issued;
}

std::vector<PairingProgress> PairingCodes::recent() {
    if (!block()) return own_.recent().value();
    const std::scoped_lock lock(mutex_);
    return recent_;
}

Result<void> PairingCodes::refresh() {
    if (!block()) return {};
    auto read = shelf_.recent();
    if (!read) return fail(std::move(read.error()));
    const std::scoped_lock lock(mutex_);
    recent_ = std::move(*read);
    return {};
}

std::vector<std::string> PairingCodes::forms_of(std::string_view code) const {
    std::string digits = digits_of(code);
    if (!keys_) return {std::move(digits)};
    return keys_->seals("pairing code " + digits);
}

Result<void> PairingCodes::count_try(std::string_view remote_address, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    if (tries_.size() >= options_.max_addresses) {
        std::erase_if(
            tries_, [&](const auto& entry) { return entry.second.back() <= now - kTriesCounted; });
    }
    const std::string address(remote_address);
    const auto found = tries_.find(address);
    if (found == tries_.end() && tries_.size() >= options_.max_addresses) {
        return limited("too many addresses try to pair: wait a minute", kTriesCounted);
    }
    std::deque<SteadyTime>& tries = found == tries_.end() ? tries_[address] : found->second;
    while (!tries.empty() && tries.front() <= now - kTriesCounted) tries.pop_front();
    if (tries.size() >= static_cast<std::size_t>(options_.tries_per_minute)) {
        return limited("too many tries to pair from this address: wait",
                       tries.front() + kTriesCounted - now);
    }
    tries.push_back(now);
    return {};
}

}  // namespace crab::trust

#include "core/pipeline/away_calls.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::core {
namespace {

bool changes_nothing(const Tool& tool) {
    return tool.spec.annotations.read_only.value_or(false) && !tool.spec.side_effects;
}

}  // namespace

AwayCalls::Place::Place(AwayCalls& calls, const Call& call, PrincipalRef principal,
                        const Executor& home, TimerWheel& timers)
    : calls_(calls),
      tool_(call.tool),
      id_(call.id),
      tenant_(call.tenant),
      principal_(std::move(principal)),
      waiter_(std::make_shared<RemoteWaiter>(home, timers)) {}

AwayCalls::Place::~Place() {
    const std::scoped_lock lock(calls_.mutex_);
    std::erase(calls_.places_, this);
}

std::optional<Error> AwayCalls::Place::ended() const {
    if (cancelled_)
        return Error{.code = ErrorCode::kCancelled,
                     .message =
                         "the call was cancelled while it waited for a device that is away; "
                         "nothing was run",
                     .details = {},
                     .retryable = false,
                     .retry_after = {}};
    if (!stopped_) return std::nullopt;
    return Error{.code = ErrorCode::kUnavailable,
                 .message =
                     "the gateway is stopping and the device is still away; nothing was "
                     "run, so call again when the gateway is back",
                 .details = {},
                 .retryable = true,
                 .retry_after = {}};
}

Error AwayCalls::not_back() {
    return {.code = ErrorCode::kUnavailable,
            .message =
                "the device that has this tool is away and did not come back in time; "
                "nothing was run, so call again when it is back, or wait longer",
            .details = {},
            .retryable = true,
            .retry_after = {}};
}

void AwayCalls::left(ConnectionId connection, std::span<const ToolRef> tools) {
    std::vector<ToolRef> kept;
    std::ranges::copy_if(tools, std::back_inserter(kept),
                         [](const ToolRef& tool) { return changes_nothing(*tool); });
    if (kept.empty()) return;
    const std::scoped_lock lock(mutex_);
    away_.replace(connection, kept);
    gone_.push_back(connection);
    if (gone_.size() <= options_.devices) return;
    away_.remove_owner(gone_.front());
    gone_.pop_front();
}

void AwayCalls::came(std::span<const ToolRef> tools) {
    std::vector<std::shared_ptr<RemoteWaiter>> wanted;
    {
        const std::scoped_lock lock(mutex_);
        for (const Place* place : places_) {
            const bool meant = std::ranges::any_of(tools, [&](const ToolRef& tool) {
                return tool->unique_name == place->tool_ || tool->spec.name == place->tool_;
            });
            if (meant) wanted.push_back(place->waiter_);
        }
    }
    for (const auto& waiter : wanted) waiter->wake();
}

Result<std::unique_ptr<AwayCalls::Place>> AwayCalls::enter(const Call& call,
                                                           const PrincipalRef& principal,
                                                           const Executor& home,
                                                           TimerWheel& timers) {
    const auto rules = rules_.get();
    if (!call.tenant.empty() && !rules->policy->may_act_in(*principal, call.tenant))
        return fail(ErrorCode::kToolNotFound, "your credential belongs to another tenant");
    const View view{.principal = principal.get(),
                    .policy = rules->policy.get(),
                    .tenant = call.tenant,
                    .prefer_source = {},
                    .prefer = {}};
    const auto known = away_.snapshot()->resolve(view, call.tool);
    // Several devices that are away may have the name: whichever comes first is meant.
    if (!known && known.error().code != ErrorCode::kAmbiguousTool) return fail(known.error());
    std::unique_ptr<Place> place(new Place(*this, call, principal, home, timers));
    if (auto kept = keep(*place); !kept) return fail(std::move(kept.error()));
    if (known && tell_) tell_(**known);
    return place;
}

Result<void> AwayCalls::keep(Place& place) {
    const std::scoped_lock lock(mutex_);
    if (places_.size() >= options_.waiting) {
        return fail(
            Error{.code = ErrorCode::kRateLimited,
                  .message = fmt::format(
                      "{} calls wait for devices already; call again in a moment", places_.size()),
                  .details = {},
                  .retryable = true,
                  .retry_after = Milliseconds(1'000)});
    }
    place.stopped_ = stopping_;
    places_.push_back(&place);
    return {};
}

std::size_t AwayCalls::cancel(
    std::string_view call_id,
    const std::function<bool(const Principal& owner, std::string_view tenant)>& allowed) {
    std::vector<std::shared_ptr<RemoteWaiter>> meant;
    {
        const std::scoped_lock lock(mutex_);
        for (Place* place : places_) {
            if (place->id_ != call_id || !allowed(*place->principal_, place->tenant_)) continue;
            place->cancelled_ = true;
            meant.push_back(place->waiter_);
        }
    }
    for (const auto& waiter : meant) waiter->wake();
    return meant.size();
}

void AwayCalls::stop() {
    std::vector<std::shared_ptr<RemoteWaiter>> all;
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
        for (Place* place : places_) {
            place->stopped_ = true;
            all.push_back(place->waiter_);
        }
    }
    for (const auto& waiter : all) waiter->wake();
}

std::size_t AwayCalls::waiting() const {
    const std::scoped_lock lock(mutex_);
    return places_.size();
}

}  // namespace crab::core

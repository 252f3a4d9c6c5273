#include "core/away_calls.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::core {
namespace {

bool changes_nothing(const Tool& tool) { return tool.spec.annotations.read_only.value_or(false) && !tool.spec.side_effects; }

}  // namespace

AwayCalls::Place::Place(AwayCalls& calls, std::string name, const Executor& home, TimerWheel& timers)
    : calls_(calls), name_(std::move(name)), waiter_(std::make_shared<RemoteWaiter>(home, timers)) {}

AwayCalls::Place::~Place() {
    const std::scoped_lock lock(calls_.mutex_);
    std::erase(calls_.places_, this);
}

void AwayCalls::left(ConnectionId connection, std::span<const ToolRef> tools) {
    std::vector<ToolRef> kept;
    std::ranges::copy_if(tools, std::back_inserter(kept), [](const ToolRef& tool) { return changes_nothing(*tool); });
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
            const bool meant = std::ranges::any_of(tools, [&](const ToolRef& tool) { return tool->unique_name == place->name_ || tool->spec.name == place->name_; });
            if (meant) wanted.push_back(place->waiter_);
        }
    }
    for (const auto& waiter : wanted) waiter->wake();
}

Result<std::unique_ptr<AwayCalls::Place>> AwayCalls::enter(const Principal& principal, std::string_view tenant, std::string_view name, const Executor& home,
                                                             TimerWheel& timers) {
    if (!principal.tenant.empty() && tenant != principal.tenant.text()) return fail(ErrorCode::kToolNotFound, "your credential belongs to another tenant");
    const auto rules = rules_.get();
    const View view{.principal = &principal, .policy = rules->policy.get(), .tenant = tenant, .prefer_source = {}, .prefer = {}};
    const auto known = away_.snapshot()->resolve(view, name);
    // Several devices that are away may have the name: whichever comes first is meant.
    if (!known && known.error().code != ErrorCode::kAmbiguousTool) return fail(known.error());
    std::unique_ptr<Place> place(new Place(*this, std::string(name), home, timers));
    const std::scoped_lock lock(mutex_);
    if (places_.size() >= options_.waiting) {
        return fail(Error{.code = ErrorCode::kRateLimited, .message = fmt::format("{} calls wait for devices already; call again in a moment", places_.size()), .details = {},
                          .retryable = true, .retry_after = Milliseconds(1'000)});
    }
    places_.push_back(place.get());
    return place;
}

std::size_t AwayCalls::waiting() const {
    const std::scoped_lock lock(mutex_);
    return places_.size();
}

}  // namespace crab::core

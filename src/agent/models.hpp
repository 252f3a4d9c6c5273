#pragma once

#include "agent/model_client.hpp"
#include "core/audit/metrics.hpp"

#include <memory>
#include <span>
#include <vector>

namespace crab::agent {

/// The configured models on one event loop. One that is away is passed over for a while in favour
/// of the next in an agent's order.
class Models {
public:
    static constexpr Milliseconds kRest{30'000};   ///< how long one that was away is asked last

    /// `fallbacks` counts how often another than the first of an order was asked.
    Models(const Clock& clock, std::vector<std::unique_ptr<ModelClient>> clients,
           core::Counter& fallbacks);

    std::size_t size() const { return slots_.size(); }
    const ModelClient& at(std::size_t place) const { return *slots_.at(place).client; }

    /// Asks the models of `order`, one after the other, until one answers. The next is asked only
    /// when one is unavailable (kUnavailable: away, overloaded, limited) and nothing of its answer
    /// was heard; those that were lately come last. `order` is not empty. Errors: those of
    /// ModelClient::ask() of the last that was asked.
    Task<Result<ModelAnswer>> ask(std::span<const std::size_t> order, const ModelRequest& request,
                                  AnswerSink& sink, Deadline deadline);

private:
    struct Slot {
        std::unique_ptr<ModelClient> client;
        SteadyTime rests_until{};
    };
    const Clock& clock_;
    std::vector<Slot> slots_;
    core::Counter& fallbacks_;
};

}  // namespace crab::agent

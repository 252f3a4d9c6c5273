#pragma once

#include "agent/model_client.hpp"
#include "core/audit/metrics.hpp"

#include <memory>
#include <span>
#include <vector>

namespace crab::agent {

/// The configured models on one event loop, with fallback: an unavailable model is skipped for a
/// while.
class Models {
public:
    static constexpr Milliseconds kRest{30'000};  ///< how long an unavailable model is tried last

    /// `fallbacks` counts requests to a model other than the first of an order.
    Models(const Clock& clock, std::vector<std::unique_ptr<ModelClient>> clients,
           core::Counter& fallbacks);

    std::size_t size() const { return slots_.size(); }
    const ModelClient& at(std::size_t place) const { return *slots_.at(place).client; }

    /// Tries the models of `order`, which is not empty, until one answers. The next is tried only
    /// after kUnavailable and if nothing of the answer has arrived; recently unavailable models
    /// come last. Errors: those of ModelClient::ask() for the last model tried.
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

#include "agent/models.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace crab::agent {
namespace {

/// Passes an answer on, and remembers that there was any.
class Listener final : public AnswerSink {
public:
    explicit Listener(AnswerSink& sink) : sink_(sink) {}
    void on_text(std::string_view piece) override {
        heard = true;
        sink_.on_text(piece);
    }
    void on_thinking(std::string_view piece) override {
        heard = true;
        sink_.on_thinking(piece);
    }
    bool heard = false;

private:
    AnswerSink& sink_;
};

}  // namespace

Models::Models(const Clock& clock, std::vector<std::unique_ptr<ModelClient>> clients,
               core::Counter& fallbacks)
    : clock_(clock), fallbacks_(fallbacks) {
    for (auto& client : clients) slots_.push_back({.client = std::move(client)});
}

Task<Result<ModelAnswer>> Models::ask(std::span<const std::size_t> order,
                                      const ModelRequest& request, AnswerSink& sink,
                                      Deadline deadline) {
    const TaskChain& chain = co_await this_chain();
    const SteadyTime now = clock_.steady_now();
    const auto rests = [&](std::size_t place) { return slots_.at(place).rests_until > now; };
    std::vector<std::size_t> places;
    std::ranges::copy_if(order, std::back_inserter(places), std::not_fn(rests));
    std::ranges::copy_if(order, std::back_inserter(places), rests);
    for (std::size_t i = 0;; ++i) {
        Slot& slot = slots_.at(places[i]);
        if (places[i] != order.front()) fallbacks_.add();
        Listener listener(sink);
        auto answer = co_await slot.client->ask(request, listener, deadline);
        if (answer) {
            slot.rests_until = {};
            slot.client->rest_until({});
            co_return answer;
        }
        const bool away = answer.error().code == ErrorCode::kUnavailable;
        if (away) {
            slot.rests_until =
                clock_.steady_now() +
                std::max(kRest, answer.error().retry_after.value_or(Milliseconds(0)));
            slot.client->rest_until(slot.rests_until);
        }
        if (!away || listener.heard || i + 1 == places.size() || chain.cancelled() ||
            clock_.steady_now() >= deadline)
            co_return answer;
        log::warn("a model is away, the next is asked",
                  {{"provider", slot.client->provider()},
                   {"model", slot.client->model()},
                   {"reason", answer.error().message},
                   {"next", slots_.at(places[i + 1]).client->model()}});
    }
}

}  // namespace crab::agent

#include "gateway/turns.hpp"

namespace crab::gateway {

std::span<const ConfigKey> Turns::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {reload_key("models", [](Config c) { return c.models; }),
                                          reload_key("agent", [](Config c) { return c.agent; }),
                                          reload_key("agents", [](Config c) { return c.agents; })};
    return kKeys;
}

Result<void> Turns::start() {
    auto setup = make_turn_setup(uses_.context.config);
    if (!setup) return fail(std::move(setup.error()));
    setup_ = std::make_unique<Published<TurnSetup>>(*setup);
    for (const auto& lane : uses_.calls.lanes()) {
        runners_.push_back(std::make_unique<CurrentRunner>(
            *setup_, CurrentRunner::Services{.loop = lane->loop,
                                             .pipeline = lane->pipeline,
                                             .chats = uses_.chats.chats(),
                                             .store_pool = uses_.session_workers.chats(),
                                             .index = index_,
                                             .pool = uses_.workers.pool(),
                                             .names = uses_.workers.names(),
                                             .artifacts = &uses_.artifacts.store(),
                                             .artifact_pool = &uses_.artifacts.pool()}));
    }
    return {};
}

Result<Component::Change> Turns::prepare(const config::GatewayConfig& next) {
    auto setup = make_turn_setup(next);
    if (!setup) return fail(std::move(setup.error()));
    return [this, made = std::move(*setup)] { setup_->set(made); };
}

void Turns::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        std::vector<const CurrentRunner*> runners;
        for (const auto& runner : runners_) runners.push_back(runner.get());
        append_turn_metrics(out, runners);
    });
}

core::TurnRunner* Turns::runner_of(const net::EventLoop& loop) {
    for (std::size_t i = 0; i < runners_.size(); ++i) {
        if (&uses_.calls.lanes()[i]->loop == &loop) return runners_[i].get();
    }
    return nullptr;
}

}  // namespace crab::gateway

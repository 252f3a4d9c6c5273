#include "gateway/agents/turns.hpp"

namespace crab::gateway {
namespace {

std::vector<admin::ShownAgent> shown_agents(const TurnSetup& setup) {
    const config::GatewayConfig& config = *setup.config;
    std::vector<admin::ShownAgent> shown;
    const auto show = [&](const agent::AgentOptions& agent,
                          const config::NamedAgentOptions* named) {
        admin::ShownAgent& one = shown.emplace_back();
        one.name = agent.name;
        one.tenant = agent.tenant;
        for (const std::size_t place : agent.models) {
            if (place >= config.models.size()) continue;
            const config::ModelOptions& model = config.models[place];
            one.models.push_back(model.name.empty() ? model.model : model.name);
        }
        one.tools_allow = config.agent.tools_allow;
        one.tools_deny = config.agent.tools_deny;
        if (named == nullptr) return;
        for (const auto& trigger : named->on) one.events.push_back(trigger.event);
        if (named->tools_allow) one.tools_allow = *named->tools_allow;
        if (named->tools_deny) one.tools_deny = *named->tools_deny;
    };
    show(setup.agents->standard, nullptr);
    for (const config::NamedAgentOptions& named : config.agents) {
        if (const auto agent = setup.agents->find(named.name)) show(**agent, &named);
    }
    return shown;
}

}  // namespace

std::span<const ConfigKey> Turns::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("models", [](auto& c) -> auto& { return c.models; }),
        reload_key("agent", [](auto& c) -> auto& { return c.agent; }),
        reload_key("agents", [](auto& c) -> auto& { return c.agents; })};
    return kKeys;
}

Result<void> Turns::start() {
    auto setup = make_turn_setup(uses_.context.config);
    if (!setup) return fail(std::move(setup.error()));
    setup_ = std::make_unique<Published<TurnSetup>>(*setup);
    for (const auto& part : uses_.calls.parts()) {
        runners_.push_back(std::make_unique<CurrentRunner>(
            *setup_, CurrentRunner::Services{.loop = part->loop,
                                             .pipeline = part->pipeline,
                                             .calls = part->calls,
                                             .chats = uses_.chats.chats(),
                                             .store_pool = uses_.session_workers.chats(),
                                             .index = index_,
                                             .pool = uses_.workers.pool(),
                                             .names = uses_.workers.names(),
                                             .artifacts = &uses_.artifacts.store(),
                                             .artifact_pool = &uses_.artifacts.pool(),
                                             .tracer = uses_.traces.turns()}));
    }
    make_api();
    return {};
}

std::vector<admin::ShownAgent> Turns::agents() const { return shown_agents(*setup_->get()); }

std::vector<ModelState> Turns::models() const {
    const std::shared_ptr<const TurnSetup> setup = setup_->get();
    const Clock& clock = uses_.context.clock;
    std::vector<ModelState> all;
    for (std::size_t i = 0; i < setup->models.size(); ++i) {
        const config::ModelOptions& model = setup->config->models.at(i);
        ModelState& one = all.emplace_back();
        one.name = model.name.empty() ? model.model : model.name;
        const auto left = setup->models[i]->rests_until.load() - clock.steady_now();
        if (left > SteadyTime::duration::zero())
            one.rests_until =
                clock.system_now() + std::chrono::duration_cast<SystemTime::duration>(left);
    }
    return all;
}

std::optional<TenantId> Turns::tenant_of(std::string_view agent) const {
    const std::shared_ptr<const TurnSetup> setup = setup_->get();
    const auto found = setup->agents->find(agent == setup->agents->standard.name ? "" : agent);
    if (!found) return std::nullopt;
    return TenantId((*found)->tenant);
}

void Turns::make_api() {
    api_ = std::make_unique<admin::AgentsApi>(
        admin::AgentsApi::Services{.configured = [this] { return agents(); },
                                   .agents = [this] { return setup_->get()->agents; },
                                   .pipeline = uses_.calls.first().pipeline,
                                   .turns = uses_.chats.event_turns(),
                                   .chats = uses_.chats.chats(),
                                   .pool = uses_.workers.pool()});
}

void Turns::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) api_->add_routes(table.routes);
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
        if (&uses_.calls.parts()[i]->loop == &loop) return runners_[i].get();
    }
    return nullptr;
}

}  // namespace crab::gateway

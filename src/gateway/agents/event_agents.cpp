#include "gateway/agents/event_agents.hpp"

#include "base/log.hpp"
#include "core/policy/policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

Result<agent::EventTrigger> make_trigger(const config::TriggerOptions& options,
                                         const std::string& tenant, const std::string& at) {
    auto types = core::EventTypes::parse(options.event);
    if (!types)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{}.event: {}", at, types.error().message));
    for (const core::EventType type : core::all_event_types()) {
        if (!agent::may_start_turns(type)) types->remove(type);
    }
    if (types->empty())
        return fail(ErrorCode::kInvalidArgs,
                    at + ".event: turns cause such events themselves, so they start none");
    agent::EventTrigger trigger{.filter = {.types = *types,
                                           .tenant = tenant,
                                           .agent_id = options.agent_id,
                                           .session_id = options.session_id},
                                .where = {},
                                .prompt = options.prompt,
                                .one_session = options.one_session,
                                .max_age = options.max_age};
    for (const config::PayloadCondition& condition : options.where)
        trigger.where.push_back({.pointer = condition.pointer, .glob = Glob(condition.glob)});
    return trigger;
}

}  // namespace

Result<std::vector<agent::EventAgent>> EventAgents::read_agents(
    const config::GatewayConfig& config) {
    std::vector<agent::EventAgent> agents;
    for (std::size_t i = 0; i < config.agents.size(); ++i) {
        const config::NamedAgentOptions& options = config.agents[i];
        if (options.on.empty()) continue;
        agent::EventAgent agent{.name = options.name,
                                .tenant = options.tenant,
                                .triggers = {},
                                .at_once = options.at_once};
        for (std::size_t k = 0; k < options.on.size(); ++k) {
            auto trigger =
                make_trigger(options.on[k], options.tenant, fmt::format("agents[{}].on[{}]", i, k));
            if (!trigger) return fail(std::move(trigger.error()));
            agent.triggers.push_back(std::move(*trigger));
        }
        agents.push_back(std::move(agent));
    }
    return agents;
}

Result<void> EventAgents::start() {
    auto agents = read_agents(context_.config);
    if (!agents) return fail(std::move(agents.error()));
    first_ = std::move(*agents);
    return {};
}

void EventAgents::begin() {
    loops_.first().post([this] { set_agents(std::exchange(first_, {})); });
}

Result<Component::Change> EventAgents::prepare(const config::GatewayConfig& next) {
    auto agents = read_agents(next);
    if (!agents) return fail(std::move(agents.error()));
    return [this, changed = std::move(*agents)] {
        loops_.first().post([this, changed] { set_agents(changed); });
    };
}

void EventAgents::stop(Deadline deadline) {
    loops_.finish(loops_.first(), deadline,
                  [this](std::function<void()> done) { stop_all(std::move(done)); });
}

void EventAgents::set_agents(std::vector<agent::EventAgent> agents) {
    if (stopped_) return;
    for (auto& [name, turns] : agents_) {
        if (std::ranges::find(agents, name, &agent::EventAgent::name) == agents.end())
            turns->set_agent(
                {.name = name, .tenant = std::string(core::kDefaultTenant), .triggers = {}});
    }
    for (agent::EventAgent& agent : agents) {
        std::unique_ptr<agent::EventTurns>& turns = agents_[agent.name];
        if (turns) {
            turns->set_agent(std::move(agent));
            continue;
        }
        turns = std::make_unique<agent::EventTurns>(
            agent::EventTurns::Services{.loop = loops_.first(),
                                        .runner = turns_.runner(0),
                                        .outbox = events_.outbox(),
                                        .turns = chats_.event_turns(),
                                        .chats = chats_.chats(),
                                        .store_pool = workers_.chats(),
                                        .log = events_.turns(),
                                        .counts = counts_},
            std::move(agent));
        turns->start();
    }
}

void EventAgents::stop_all(std::function<void()> done) {
    stopped_ = true;
    auto left = std::make_shared<std::size_t>(agents_.size() + 1);
    const auto one_less = [left, end = std::move(done)] {
        if (--*left == 0) end();
    };
    for (const auto& [name, turns] : agents_) turns->stop(one_less);
    one_less();
}

void EventAgents::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) { append_metrics(out); });
}

void EventAgents::append_metrics(std::string& out) const {
    const auto append = [&](std::string_view name, std::string_view help,
                            const core::Counter& counter) {
        core::append_metric(out, name, "counter", help, static_cast<double>(counter.value()));
    };
    append("crab_event_turns_total", "Turns that events have started.", counts_.begun);
    append("crab_event_turns_failed_total", "Turns of events that ended with an error.",
           counts_.failed);
    append("crab_event_turns_late_total",
           "Events that were too old to start a turn, or no longer kept.", counts_.late);
}

}  // namespace crab::gateway

#include "gateway/agents/turn_runners.hpp"

#include "agent/anthropic_messages.hpp"
#include "agent/base_url.hpp"
#include "agent/chat_completions.hpp"
#include "agent/no_model_runner.hpp"
#include "base/process/file.hpp"
#include "core/approvals/asked_question.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

std::string without_line_end(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.pop_back();
    return text;
}

Result<Secret<std::string>> read_key(const config::ModelOptions& model, std::string_view at) {
    if (!model.key_env.empty()) {
        const char* const value = std::getenv(model.key_env.c_str());
        if (value == nullptr || *value == '\0')
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{}.key_env: the environment variable {} is not set", at,
                                    model.key_env));
        return Secret(without_line_end(value));
    }
    if (model.key_file.empty()) return Secret<std::string>();
    auto text = read_file(model.key_file);
    if (!text || without_line_end(*text).empty())
        return fail(ErrorCode::kInvalidArgs, fmt::format("{}.key_file: cannot read a key from {}",
                                                         at, model.key_file.string()));
    return Secret(without_line_end(*std::move(text)));
}

struct Vendor {
    std::shared_ptr<const agent::ModelApi> api;
    std::string_view url;
};

Vendor vendor_of(config::ModelApiKind kind) {
    switch (kind) {
        case config::ModelApiKind::kOpenAi:
            return {std::make_shared<agent::ChatCompletions>(), "https://api.openai.com/v1"};
        case config::ModelApiKind::kAnthropic:
            return {std::make_shared<agent::AnthropicMessages>(), "https://api.anthropic.com"};
    }
    return {};
}

Result<std::shared_ptr<const agent::HttpModel>> make_model(const config::ModelOptions& options,
                                                           std::string_view at) {
    auto model = std::make_shared<agent::HttpModel>();
    const Vendor vendor = vendor_of(options.api);
    auto url =
        agent::parse_base_url(options.url.empty() ? vendor.url : std::string_view(options.url));
    if (!url)
        return fail(ErrorCode::kInvalidArgs, fmt::format("{}.url: {}", at, url.error().message));
    auto key = read_key(options, at);
    if (!key) return fail(std::move(key.error()));
    if (url->tls) {
        net::TlsContext::Options tls{.role = net::TlsContext::Role::kClient,
                                     .peer_check = net::TlsContext::PeerCheck::kChainAndName};
        tls.ca.file = options.ca;
        auto made = net::TlsContext::make(std::move(tls));
        if (!made)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{}.ca: {}", at, made.error().message));
        model->tls = std::move(*made);
    }
    model->provider = options.provider.empty() ? url->host : options.provider;
    model->api = vendor.api;
    const bool reasons_within_limit =
        options.api == config::ModelApiKind::kOpenAi &&
        (url->host == "api.openai.com" || url->host.ends_with(".openai.azure.com"));
    model->url = std::move(*url);
    model->key = std::move(*key);
    model->settings = {.model = options.model,
                       .max_output_tokens = static_cast<std::int64_t>(options.max_output_tokens),
                       .reasons_within_limit = reasons_within_limit,
                       .thinking_tokens = static_cast<std::int64_t>(options.thinking_tokens),
                       .sees = options.vision,
                       .return_reasoning = options.return_reasoning};
    model->retry.most = static_cast<int>(options.max_retries);
    model->silence = std::chrono::duration_cast<Milliseconds>(options.silence);
    return model;
}

std::vector<Glob> agent_globs(const std::vector<std::string>& patterns) {
    return {patterns.begin(), patterns.end()};
}

/// Whether these lists let an agent ask the person of its chat, which is a tool to it.
bool may_ask(const std::vector<std::string>& allow, const std::vector<std::string>& deny) {
    const auto names = [](const std::string& pattern) {
        return Glob(pattern).matches(core::kAskUser);
    };
    return (allow.empty() || std::ranges::any_of(allow, names)) &&
           std::ranges::none_of(deny, names);
}

/// All models in their order, or those of these names.
std::vector<std::size_t> places_of(const std::vector<config::ModelOptions>& models,
                                   const std::vector<std::string>& names) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; names.empty() && i < models.size(); ++i) places.push_back(i);
    for (const std::string& name : names) {
        const auto found = std::ranges::find_if(models, [&](const config::ModelOptions& model) {
            return (model.name.empty() ? model.model : model.name) == name;
        });
        places.push_back(static_cast<std::size_t>(found - models.begin()));
    }
    return places;
}

std::shared_ptr<const agent::AgentCatalog> make_agents(const config::GatewayConfig& config) {
    auto catalog = std::make_shared<agent::AgentCatalog>();
    const config::AgentOptions& base = config.agent;
    agent::AgentOptions& standard = catalog->standard;
    standard.instructions = base.instructions;
    standard.models = places_of(config.models, {});
    standard.tools = {agent_globs(base.tools_allow), agent_globs(base.tools_deny)};
    standard.may_ask = may_ask(base.tools_allow, base.tools_deny);
    standard.pinned = agent_globs(base.tools_pinned);
    standard.max_rounds = base.max_rounds;
    standard.turn_timeout = std::chrono::duration_cast<Milliseconds>(base.turn_timeout);
    standard.context_tokens = base.context_tokens;
    standard.output_bytes = base.output_bytes;
    standard.max_tools = base.max_tools;
    standard.tool_tokens = base.tool_tokens;
    for (const config::NamedAgentOptions& named : config.agents) {
        agent::AgentOptions made = standard;
        made.name = named.name;
        made.tenant = named.tenant;
        made.instructions = named.instructions.value_or(standard.instructions);
        made.models = places_of(config.models, named.models);
        if (named.tools_allow) {  // all three are there, or none
            made.tools = {agent_globs(*named.tools_allow), agent_globs(*named.tools_deny)};
            made.may_ask = may_ask(*named.tools_allow, *named.tools_deny);
            made.pinned = agent_globs(*named.tools_pinned);
        }
        made.max_rounds = named.max_rounds.value_or(standard.max_rounds);
        if (named.turn_timeout)
            made.turn_timeout = std::chrono::duration_cast<Milliseconds>(*named.turn_timeout);
        made.context_tokens = named.context_tokens.value_or(standard.context_tokens);
        made.output_bytes = named.output_bytes.value_or(standard.output_bytes);
        made.max_tools = named.max_tools.value_or(standard.max_tools);
        made.tool_tokens = named.tool_tokens.value_or(standard.tool_tokens);
        catalog->named.emplace(made.name, std::move(made));
    }
    return catalog;
}

}  // namespace

Result<std::shared_ptr<const TurnSetup>> make_turn_setup(const config::GatewayConfig& config) {
    auto setup = std::make_shared<TurnSetup>();
    for (std::size_t i = 0; i < config.models.size(); ++i) {
        auto made = make_model(config.models[i], fmt::format("models[{}]", i));
        if (!made) return fail(std::move(made.error()));
        setup->models.push_back(std::move(*made));
    }
    setup->agents = make_agents(config);
    setup->config = std::make_shared<const config::GatewayConfig>(config);
    return setup;
}

std::shared_ptr<core::TurnRunner> CurrentRunner::current() {
    const auto& setup = setup_.get();
    if (setup == made_of_) return runner_;
    made_of_ = setup;
    if (setup->models.empty()) {
        runner_ = std::make_shared<agent::NoModelRunner>(services_.loop, services_.pipeline,
                                                         services_.calls, setup->agents);
    } else {
        std::vector<std::unique_ptr<agent::ModelClient>> clients;
        for (const auto& model : setup->models)
            clients.push_back(
                std::make_unique<agent::HttpModelClient>(services_.loop, services_.names, model));
        const agent::Agent::Services services{.loop = services_.loop,
                                              .pipeline = services_.pipeline,
                                              .calls = services_.calls,
                                              .chats = services_.chats,
                                              .store_pool = services_.store_pool,
                                              .index = services_.index,
                                              .pool = services_.pool,
                                              .artifacts = services_.artifacts,
                                              .artifact_pool = services_.artifact_pool,
                                              .metrics = metrics_,
                                              .tracer = services_.tracer};
        runner_ = std::make_shared<agent::Agent>(services, std::move(clients), setup->agents);
    }
    return runner_;
}

Task<Result<std::string>> CurrentRunner::run(core::TurnRequest request, core::TurnEvents& events) {
    const std::shared_ptr<core::TurnRunner> runner = current();  // outlives the turn
    co_return co_await runner->run(std::move(request), events);
}

void append_turn_metrics(std::string& out, std::span<const CurrentRunner* const> runners) {
    using Of = core::Counter agent::AgentMetrics::*;
    const auto append = [&](std::string_view name, Of counter, std::string_view help) {
        std::uint64_t sum = 0;
        for (const CurrentRunner* runner : runners) sum += (runner->metrics().*counter).value();
        core::append_metric(out, name, "counter", help, static_cast<double>(sum));
    };
    append("crab_turns_total", &agent::AgentMetrics::turns, "Turns of the agent that began.");
    append("crab_turns_failed_total", &agent::AgentMetrics::failed_turns,
           "Turns that ended with an error.");
    append("crab_model_requests_total", &agent::AgentMetrics::model_requests,
           "Requests to the model; repeats are not counted.");
    append("crab_turns_searched_total", &agent::AgentMetrics::searched_turns,
           "Turns with so many tools that the model was offered find_tools instead of all.");
    append("crab_turn_tool_calls_total", &agent::AgentMetrics::tool_calls,
           "Tool calls that turns made.");
    append("crab_model_fallbacks_total", &agent::AgentMetrics::fallbacks,
           "Requests that went to another model because an earlier one was away.");
    append("crab_model_input_tokens_total", &agent::AgentMetrics::input_tokens,
           "Tokens that the model read, as it counts them.");
    append("crab_model_output_tokens_total", &agent::AgentMetrics::output_tokens,
           "Tokens that the model wrote, as it counts them.");
}

}  // namespace crab::gateway

#include "apps/crab/gateway/turn_runners.hpp"

#include "agent/anthropic_messages.hpp"
#include "agent/chat_completions.hpp"
#include "agent/offline.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace crab::app {
namespace {

std::string without_line_end(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
    return text;
}

Result<Secret<std::string>> read_key(const config::ModelOptions& model) {
    if (!model.key_env.empty()) {
        const char* const value = std::getenv(model.key_env.c_str());
        if (value == nullptr || *value == '\0') return fail(ErrorCode::kInvalidArgs, fmt::format("models[0].key_env: the environment variable {} is not set", model.key_env));
        return Secret(without_line_end(value));
    }
    if (model.key_file.empty()) return Secret<std::string>();
    std::ifstream file(model.key_file);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || without_line_end(text).empty()) return fail(ErrorCode::kInvalidArgs, fmt::format("models[0].key_file: cannot read a key from {}", model.key_file.string()));
    return Secret(without_line_end(std::move(text)));
}

struct Vendor {
    std::shared_ptr<const agent::ModelApi> api;
    std::string_view url;
};

Vendor vendor_of(config::ModelApiKind kind) {
    switch (kind) {
        case config::ModelApiKind::kOpenAi: return {std::make_shared<agent::ChatCompletions>(), "https://api.openai.com/v1"};
        case config::ModelApiKind::kAnthropic: return {std::make_shared<agent::AnthropicMessages>(), "https://api.anthropic.com"};
    }
    return {};
}

Result<std::shared_ptr<const agent::HttpModel>> make_model(const config::ModelOptions& options) {
    auto model = std::make_shared<agent::HttpModel>();
    const Vendor vendor = vendor_of(options.api);
    auto url = agent::parse_base_url(options.url.empty() ? vendor.url : std::string_view(options.url));
    if (!url) return fail(ErrorCode::kInvalidArgs, "models[0].url: " + url.error().message);
    auto key = read_key(options);
    if (!key) return fail(std::move(key.error()));
    if (url->tls) {
        net::TlsContext::Options tls{.role = net::TlsContext::Role::kClient, .peer_check = net::TlsContext::PeerCheck::kChainAndName};
        tls.ca.file = options.ca;
        auto made = net::TlsContext::make(std::move(tls));
        if (!made) return fail(ErrorCode::kInvalidArgs, "models[0].ca: " + made.error().message);
        model->tls = std::move(*made);
    }
    model->provider = options.provider.empty() ? url->host : options.provider;
    model->api = vendor.api;
    model->url = std::move(*url);
    model->key = std::move(*key);
    model->settings = {.model = options.model, .max_output_tokens = static_cast<std::int64_t>(options.max_output_tokens)};
    model->retry.most = static_cast<int>(options.max_retries);
    model->silence = std::chrono::duration_cast<Milliseconds>(options.silence);
    return model;
}

}  // namespace

Result<TurnSetup> make_turn_setup(const config::GatewayConfig& config) {
    TurnSetup setup;
    if (!config.models.empty()) {
        auto made = make_model(config.models.front());
        if (!made) return fail(std::move(made.error()));
        setup.model = std::move(*made);
    }
    agent::AgentOptions options;
    options.instructions = config.agent.instructions;
    options.max_rounds = config.agent.max_rounds;
    options.turn_timeout = std::chrono::duration_cast<Milliseconds>(config.agent.turn_timeout);
    options.context_tokens = config.agent.context_tokens;
    options.output_bytes = config.agent.output_bytes;
    options.max_tools = config.agent.max_tools;
    setup.options = std::make_shared<const agent::AgentOptions>(std::move(options));
    return setup;
}

std::unique_ptr<core::TurnRunner> make_turn_runner(const TurnSetup& setup, agent::Agent::Services services, BlockingPool& pool) {
    if (!setup.model) return std::make_unique<agent::Offline>(services.loop, services.pipeline, setup.options->output_bytes);
    auto client = std::make_unique<agent::HttpModelClient>(services.loop, pool, setup.model);
    return std::make_unique<agent::Agent>(services, std::move(client), setup.options);
}

void append_turn_metrics(std::string& out, std::span<const core::TurnRunner* const> runners) {
    using Of = core::Counter agent::AgentMetrics::*;
    const auto append = [&](std::string_view name, Of counter, std::string_view help) {
        std::uint64_t sum = 0;
        for (const core::TurnRunner* runner : runners) {
            if (const auto* counting = dynamic_cast<const agent::Agent*>(runner)) sum += (counting->metrics().*counter).value();
        }
        core::append_metric(out, name, "counter", help, static_cast<double>(sum));
    };
    append("crab_turns_total", &agent::AgentMetrics::turns, "Turns of the agent that began.");
    append("crab_turns_failed_total", &agent::AgentMetrics::failed_turns, "Turns that ended with an error.");
    append("crab_model_requests_total", &agent::AgentMetrics::model_requests, "Requests to the model; repeats are not counted.");
    append("crab_turn_tool_calls_total", &agent::AgentMetrics::tool_calls, "Tool calls that turns made.");
    append("crab_model_input_tokens_total", &agent::AgentMetrics::input_tokens, "Tokens that the model read, as it counts them.");
    append("crab_model_output_tokens_total", &agent::AgentMetrics::output_tokens, "Tokens that the model wrote, as it counts them.");
}

}  // namespace crab::app

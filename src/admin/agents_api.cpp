#include "admin/agents_api.hpp"

#include "json/writer.hpp"
#include "net/codec/url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::admin {
namespace {

constexpr std::size_t kLatest = 100;
constexpr std::size_t kSearched = 10'000;   // turns among which one is looked for by its id

void append_turn(json::Writer& writer, const core::EventTurn& turn) {
    writer.begin_object()
        .key("turn_id")
        .string(turn.turn_id)
        .key("agent")
        .string(turn.agent)
        .key("event_id")
        .string_lossy(turn.event_id);
    writer.key("event_type")
        .string(turn.event_type)
        .key("session_id")
        .string(turn.session.text())
        .key("begun_at")
        .string(to_rfc3339(turn.begun));
    if (turn.ended)
        writer.key("ended_at").string(to_rfc3339(*turn.ended)).key("end").string(turn.end);
    writer.end_object();
}

void append_texts(json::Writer& writer, const std::vector<std::string>& texts) {
    writer.begin_array();
    for (const std::string& text : texts) writer.string_lossy(text);
    writer.end_array();
}

void append_agent(json::Writer& writer, const ShownAgent& agent) {
    writer.begin_object().key("name").string(agent.name).key("tenant").string_lossy(agent.tenant);
    writer.key("models");
    append_texts(writer, agent.models);
    writer.key("events");
    append_texts(writer, agent.events);
    writer.key("tools").begin_object().key("allow");
    append_texts(writer, agent.tools_allow);
    writer.key("deny");
    append_texts(writer, agent.tools_deny);
    writer.end_object().end_object();
}

}  // namespace

void AgentsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/v1/admin/agents",
                .summary = "Agents, and the latest turns that events have started",
                .answers = {{200, "agent_list"}},
                .refusals = {503}},
               [this](const Request& request) { return list(request.exchange); });
    routes.add({.path = "/v1/admin/agents/turns/{turn_id}",
                .summary = "Such a turn, and what was said in its chat session",
                .answers = {{200, "event_turn"}},
                .refusals = {404, 503}},
               [this](const Request& request) {
                   return show(request.exchange, request.arguments["turn_id"]);
               });
    routes.add({.path = "/v1/admin/agents/tools",
                .summary = "What a model of an agent would be told of, with its price",
                .query = {{"agent", "its name; without it the standard one"}},
                .answers = {{200, "agent_tool_list"}},
                .refusals = {404}},
               [this](const Request& request) { price(request.exchange, *request.principal); });
}

Task<void> AgentsApi::list(net::HttpExchange& exchange) {
    auto read = [&turns = services_.turns] { return turns.latest(kLatest); };
    const auto turns = co_await services_.pool.run(std::move(read));
    if (!turns) {
        exchange.respond_error(503, "UNAVAILABLE", turns.error().message);
        co_return;
    }
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer writer(out);
    writer.begin_object().key("agents").begin_array();
    for (const ShownAgent& agent : services_.configured()) append_agent(writer, agent);
    writer.end_array().key("turns").begin_array();
    for (const core::EventTurn& turn : *turns) append_turn(writer, turn);
    writer.end_array().end_object();
    exchange.finish_response();
}

Task<void> AgentsApi::show(net::HttpExchange& exchange, std::string turn_id) {
    struct Found {
        std::optional<core::EventTurn> turn;
        std::vector<core::ChatMessage> messages;
    };
    auto read = [this, turn_id]() -> Result<Found> {
        auto turns = services_.turns.latest(kSearched);
        if (!turns) return fail(std::move(turns.error()));
        const auto turn = std::ranges::find(*turns, turn_id, &core::EventTurn::turn_id);
        if (turn == turns->end()) return Found{};
        auto messages = services_.chats.messages(turn->session);
        if (!messages) return fail(std::move(messages.error()));
        return Found{.turn = std::move(*turn), .messages = std::move(*messages)};
    };
    const auto found = co_await services_.pool.run(std::move(read));
    if (!found) {
        exchange.respond_error(503, "UNAVAILABLE", found.error().message);
        co_return;
    }
    if (!found->turn) {
        exchange.respond_error(404, "NOT_FOUND",
                               "no event has started a turn of that id, or it is forgotten; crab "
                               "agents turns lists them");
        co_return;
    }
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer writer(out);
    writer.begin_object().key("turn");
    append_turn(writer, *found->turn);
    writer.key("messages").begin_array();
    for (const core::ChatMessage& message : found->messages) {
        writer.begin_object()
            .key("role")
            .string(message.role)
            .key("content")
            .string_lossy(message.content)
            .key("created_at")
            .string(to_rfc3339(message.created_at))
            .end_object();
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

void AgentsApi::price(net::HttpExchange& exchange, const core::Principal& principal) {
    const std::string name = net::find_query(exchange.request().query(), "agent").value_or("");
    const std::shared_ptr<const agent::AgentCatalog> agents = services_.agents();
    const auto agent = agents->find(name == agents->standard.name ? std::string() : name);
    if (!agent) {
        exchange.respond_error(
            404, "NOT_FOUND",
            fmt::format("no agent {} is configured; crab agents list lists them", name));
        return;
    }
    const agent::AgentOptions& options = **agent;
    const auto listed = services_.pipeline.list_for({.principal = &principal,
                                                     .policy = nullptr,
                                                     .tenant = options.tenant,
                                                     .prefer_source = {},
                                                     .prefer = {},
                                                     .scope = &options.tools});
    agent::ToolOffer offer;
    const std::vector<agent::PricedTool> prices = offers_.prices(listed, options, offer);
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer writer(out);
    writer.begin_object().key("agent").string(options.name).key("searched").boolean(offer.searched);
    writer.key("visible")
        .unsigned_integer(offer.visible)
        .key("visible_tokens")
        .unsigned_integer(offer.visible_tokens)
        .key("offered_tokens")
        .unsigned_integer(offer.tokens);
    writer.key("max_tools")
        .unsigned_integer(options.max_tools)
        .key("max_tokens")
        .unsigned_integer(options.tool_tokens)
        .key("tools")
        .begin_array();
    for (const agent::PricedTool& each : prices) {
        writer.begin_object()
            .key("name")
            .string_lossy(each.tool->name)
            .key("tokens")
            .unsigned_integer(each.tokens)
            .key("offered")
            .boolean(each.offered)
            .end_object();
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

}  // namespace crab::admin

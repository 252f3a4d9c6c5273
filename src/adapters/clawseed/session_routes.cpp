// Chat sessions over REST, docs/protocols/clawseed.md, section 8: one of them, and what is below
// it.

#include "adapters/clawseed/front.hpp"
#include "adapters/clawseed/store_error.hpp"
#include "base/scope_exit.hpp"
#include "base/task/waiter.hpp"
#include "json/display_name.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <atomic>
#include <initializer_list>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::chrono::seconds kAbortAnswers{5};  // for a turn to say that it was running

std::string_view name_of(ChatState state) {
    switch (state) {
        case ChatState::kIdle: return "idle";
        case ChatState::kRunning: return "running";
        case ChatState::kError: return "error";
    }
    return "idle";
}

/// Those members of a stored object that it has; an empty text has none.
void append_members(json::Writer& writer, json::Parser& parser, const std::string& object,
                    std::initializer_list<std::string_view> members) {
    if (object.empty()) return;
    const auto root = parser.parse(object);
    if (!root) return;
    for (const std::string_view member : members) {
        if (const auto value = json::get(root->element(), member))
            writer.key(member).raw(json::to_text(*value));
    }
}

/// Which tool a stored result is of, and the id of its call in the audit log.
void append_call(json::Writer& writer, json::Parser& parser, const std::string& extra) {
    const auto root = parser.parse(extra);
    if (!root) return;
    if (const auto tool = json::get_string(root->element(), "tool"))
        writer.key("tool").string(*tool);
    if (const auto id = json::get_string(root->element(), "audit_id"))
        writer.key("call_id").string(*id);
}

/// Whether a turn was running when it was aborted, which the chat's event loop says.
struct AbortAnswer : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    std::atomic<bool> running{false};
};

}  // namespace

Task<std::optional<Front::OwnSession>> Front::own_session(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const std::string& id = request.arguments["session_id"];
    if (!core::is_chat_session_id(id)) {
        net::respond_unknown_path(exchange);
        co_return std::nullopt;
    }
    OwnSession own{.chat = services_.hub.find_chat(*request.principal, id),
                   .session = {},
                   .place = services_.hub.requests().take(request.principal->id)};
    if (!own.place) {
        respond_too_many(exchange);
        co_return std::nullopt;
    }
    auto find = [&store = services_.hub.services().chats, session_id = ChatSessionId(id)] {
        return store.find(session_id);
    };
    const auto stored = co_await services_.hub.services().store_pool.run(std::move(find));
    if (!stored) {
        respond_store_error(exchange, stored.error());
        co_return std::nullopt;
    }
    const bool live = own.chat && !own.chat->is_forgotten();
    if (!live && !(*stored && (*stored)->owner == request.principal->id)) {
        exchange.respond_error(404, "NOT_FOUND", "no such chat session of yours");
        co_return std::nullopt;
    }
    own.session = own.chat ? own.chat->session() : **stored;
    co_return own;
}

Task<void> Front::session_messages(const Request& request) {
    const ScopeExit done([this] { parser_.shrink(); });
    const auto own = co_await own_session(request);
    if (!own) co_return;
    const std::string& id = request.arguments["session_id"];
    auto read = [&store = services_.hub.services().chats, session_id = ChatSessionId(id)] {
        return store.messages(session_id);
    };
    const auto messages = co_await services_.hub.services().store_pool.run(std::move(read));
    if (!messages) co_return respond_store_error(request.exchange, messages.error());
    json::Writer writer(request.exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("session_id").string(id).key("messages").begin_array();
    for (const auto& message : *messages) {
        if (!core::is_shown(message.role, message.content)) continue;
        writer.begin_object()
            .key("role")
            .string(message.role)
            .key("content")
            .string_lossy(message.content);
        if (message.role == "user")
            append_members(writer, parser_, message.extra, {"attachments", "files"});
        if (message.role == "tool") append_call(writer, parser_, message.extra);
        append_members(writer, parser_, message.display, {"presentation", "metrics"});
        writer.end_object();
    }
    writer.end_array().key("session_persistence").boolean(true).end_object();
    request.exchange.finish_response();
}

Task<void> Front::session_state(const Request& request) {
    const auto own = co_await own_session(request);
    if (!own) co_return;
    json::Writer writer(request.exchange.begin_response(200, net::kJsonType));
    writer.begin_object()
        .key("session_id")
        .string(request.arguments["session_id"])
        .key("state")
        .string(name_of(own->chat ? own->chat->state() : ChatState::kIdle));
    if (const auto turn = own->chat ? own->chat->running_turn() : std::nullopt) {
        writer.key("turn_id")
            .string(turn->turn_id)
            .key("turn_started_at")
            .string(to_rfc3339(turn->started_at));
    }
    writer.end_object();
    request.exchange.finish_response();
}

Task<void> Front::rename_session(const Request& request) {
    const ScopeExit done([this] { parser_.shrink(); });
    net::HttpExchange& exchange = request.exchange;
    const auto own = co_await own_session(request);
    if (!own) co_return;
    const auto root = parser_.parse(exchange.request().body);
    const auto name = root ? json::get_string(root->element(), "name") : std::nullopt;
    const Result<std::string> read = name ? json::read_display_name(*name)
                                          : fail(ErrorCode::kInvalidArgs, "a string is required");
    if (!read)
        co_return exchange.respond_error(400, "INVALID_ARGS", "/name: " + read.error().message);
    const std::string given = *read;
    if (own->chat) own->chat->rename(given);
    auto rename = [&store = services_.hub.services().chats, session = own->session,
                   given]() -> Result<void> {
        const core::NewChatSession wanted{.id = session.id,
                                          .owner = session.owner,
                                          .name = given,
                                          .persona = session.persona,
                                          .created_at = session.created_at};
        if (auto opened = store.open(wanted); !opened) return fail(opened.error());
        return store.rename(session.id, given);
    };
    if (const auto renamed = co_await services_.hub.services().store_pool.run(std::move(rename));
        !renamed)
        co_return respond_store_error(exchange, renamed.error());
    json::Writer(exchange.begin_response(200, net::kJsonType))
        .begin_object()
        .key("session_id")
        .string(request.arguments["session_id"])
        .key("name")
        .string_lossy(given)
        .end_object();
    exchange.finish_response();
}

Task<void> Front::delete_session(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const auto own = co_await own_session(request);
    if (!own) co_return;
    if (own->chat) {
        own->chat->abort([](bool) {});
        own->chat->forget_history();
    }
    const std::string& id = request.arguments["session_id"];
    auto remove = [&store = services_.hub.services().chats, session_id = ChatSessionId(id),
                   session = own->session, deleted = services_.session_deleted,
                   principal = request.principal] {
        auto removed = store.remove(session_id);
        if (removed && deleted) deleted(*principal, session);
        return removed;
    };
    if (const auto removed = co_await services_.hub.services().store_pool.run(std::move(remove));
        !removed)
        co_return respond_store_error(exchange, removed.error());
    json::Writer(exchange.begin_response(200, net::kJsonType))
        .begin_object()
        .key("deleted")
        .boolean(true)
        .key("session_id")
        .string(id)
        .end_object();
    exchange.finish_response();
}

Task<void> Front::abort_session(const Request& request) {
    const std::string& id = request.arguments["session_id"];
    if (!core::is_chat_session_id(id)) co_return net::respond_unknown_path(request.exchange);
    bool aborted = false;
    if (const std::shared_ptr<Chat> chat = services_.hub.find_chat(*request.principal, id)) {
        const auto answer = std::make_shared<AbortAnswer>(loop_.executor(), loop_.timers());
        chat->abort([answer](bool running) {
            answer->running = running;
            answer->wake();
        });
        (void)co_await answer->wait(loop_.clock().steady_now() + kAbortAnswers);
        aborted = answer->running;
    }
    request.exchange.respond(
        200, net::kJsonType,
        aborted ? R"({"status":"aborted"})" : R"({"status":"no_active_response"})");
}

/// Their names and nothing else: what they are made of is for operators.
void Front::list_agents(net::HttpExchange& exchange) const {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("agents").begin_array();
    for (const std::string& name : services_.hub.options()->personas)
        writer.begin_object().key("name").string(name).end_object();
    writer.end_array().end_object();
    exchange.finish_response();
}

}  // namespace crab::clawseed

#pragma once

#include "adapters/mcp/server/catalog_lists.hpp"
#include "adapters/mcp/server/change_streams.hpp"
#include "adapters/mcp/server/methods.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/server/sweeper.hpp"
#include "adapters/mcp/server/tool_calls.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "adapters/mcp/server/tool_search.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "adapters/mcp/wire/message_reader.hpp"
#include "adapters/mcp/wire/post_meaning.hpp"
#include "adapters/mcp/wire/request_meta.hpp"
#include "json/parser.hpp"
#include "net/http/http_exchange.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace crab::mcp {

/// The endpoint of a scope: the checks of a request in their order, whose era it is, and who serves
/// it. Host, Origin and credential are checked by the listener. One per event loop and scope; what
/// they share is in ServerState. Source: docs/protocols/mcp.md, sections 2.2 to 2.4.
class Endpoint {
public:
    /// All of it outlives the endpoint.
    struct Uses {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        core::CallRunner& calls;
        core::Registry& registry;
        Catalogs& catalogs;
        ResourceWatches& watches;
        ServerState& state;
        ArtifactReads artifacts{};
        core::AwayCalls* away = nullptr;  ///< null: no call waits for a device
        ToolSearch search{};
    };
    /// `scope`: one of the state's options.
    Endpoint(const Uses& uses, const Scope& scope);

    const Scope& scope() const { return lists_.scope(); }
    /// `carrier`: kStdio for the listener of `crab mcp stdio`, whose messages have no header fields
    /// to be compared with.
    Task<void> post(net::HttpExchange& exchange, core::PrincipalRef principal, Carrier carrier);
    Task<void> get(net::HttpExchange& exchange, core::PrincipalRef principal);
    void end_session(net::HttpExchange& exchange, const core::Principal& principal);
    /// HTTP+SSE: the stream that is a session, and what its client says (section 2.7).
    Task<void> get_sse(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> post_sse(net::HttpExchange& exchange, core::PrincipalRef principal);
    /// Ends the open streams, each with its result if it has one, and leaves tasks that can be
    /// taken up again to the next gateway. On the loop.
    void stop() {
        calls_.suspend();
        streams_.stop();
    }
    /// Cancels the calls that wait for input; `done` is called when they have ended. Before it is
    /// destroyed, on the loop.
    void end(std::function<void()> done) { calls_.stop(std::move(done)); }
    /// A credential was revoked: ends what it has opened. On the loop.
    void end_credential(std::string_view credential) { streams_.end_credential(credential); }

private:
    struct Post;

    std::shared_ptr<Session> find_session(std::string_view id, const core::Principal& principal);
    std::shared_ptr<Session> named_session(net::HttpExchange& exchange,
                                           const core::Principal& principal);

    Task<void> serve_body(Post& post);
    static void refuse_reading(Post& post, const Refusal& why);
    PostMeaning meaning_for(Post& post, Message& message);
    Task<void> serve_batch(Post& post, Body body);
    Task<void> serve_modern(Post& post, Message& message);
    Task<void> serve_legacy(Post& post, Message& message);
    void open_session(Post& post, Message& message);
    /// What becomes of a request of a session; nothing for one that was cancelled.
    Task<std::optional<Reply>> reply_of(net::HttpExchange& exchange, const ClientRequest& request,
                                        PostAnswer& answer);
    Task<std::optional<Reply>> reply_on_stream(Post& post, Message& message, PostAnswer& answer);
    void take_notification(Session& session, const Message& message);
    /// Errors: why its headers do not fit the message.
    std::expected<void, std::string> check_headers(const Post& post, const Message& message);
    std::optional<json::Borrowed> parsed_arguments(const Message& message) const;
    /// Takes what is in the message.
    ClientRequest request_of(const Post& post, Message& message, Revision revision) const;
    PostAnswer::Options answer_options(const Post& post) const;

    net::EventLoop& loop_;
    ServerState& state_;
    ToolLists lists_;
    CatalogLists catalog_lists_;
    ToolCalls calls_;
    Methods methods_;
    ChangeStreams streams_;
    json::Parser parser_;
    Sweeper sweeper_;
};

}  // namespace crab::mcp

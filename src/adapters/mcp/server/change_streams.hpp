#pragma once

#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "base/task/waiter.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace crab::mcp {

/// The streams that stay open and tell of changes: GET of legacy sessions and
/// `subscriptions/listen`. One per event loop.
/// Source: docs/protocols/mcp.md, sections 2.4 and 4.5.
class ChangeStreams final : private TimerNode {
public:
    ChangeStreams(net::EventLoop& loop, ServerState& state, ToolLists& lists)
        : loop_(loop), state_(state), lists_(lists) {}

    /// GET: what is new on the session's stream, and that its lists have changed.
    Task<void> serve_session(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                             core::PrincipalRef principal);
    /// GET with `Last-Event-ID`: the rest of that stream only.
    Task<void> resume(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                      core::PrincipalRef principal, EventId seen);
    /// `subscriptions/listen`, from its acknowledgement to its end.
    Task<void> listen(net::HttpExchange& exchange, const ClientRequest& request);
    /// Ends all streams: each gets its result, if it has one.
    void stop();

private:
    /// What a list of one principal looked like when it was last told of.
    class Watch;
    /// Woken when a list may have changed, as long as it lives.
    class Place;
    struct Reading {
        std::shared_ptr<Session> session;
        std::shared_ptr<SessionStream> stream;
        std::uint64_t after = 0;  ///< the last event that the client has
    };

    void on_expired() override;
    void watch_soon();
    Task<void> read(net::HttpExchange& exchange, Reading reading, core::PrincipalRef principal);
    void write_ping(net::HttpExchange& exchange);

    // the text promises 100 ms
    static constexpr Milliseconds kLook{50};

    net::EventLoop& loop_;
    ServerState& state_;
    ToolLists& lists_;
    std::vector<std::shared_ptr<RemoteWaiter>> places_;
    std::uint64_t seen_ = 0;
    bool stopping_ = false;
};

}  // namespace crab::mcp

#pragma once

#include "adapters/mcp/server/catalog_lists.hpp"
#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/list_watch.hpp"
#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/server_state.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "base/task/waiter.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// The streams that stay open and tell of changes: GET of legacy sessions and
/// `subscriptions/listen`. One per event loop.
/// Source: docs/protocols/mcp.md, sections 2.4 and 4.5.
class ChangeStreams final : private TimerNode {
public:
    static constexpr std::size_t kMostResources = 256;  ///< of one listen stream or session

    struct Uses {
        net::EventLoop& loop;
        ServerState& state;
        core::Registry& registry;
        Catalogs& catalogs;
        ResourceWatches& watches;
        ToolLists& tools;
        CatalogLists& catalog_lists;
    };
    explicit ChangeStreams(const Uses& uses);
    ~ChangeStreams() override;

    /// GET: what is new on the session's stream, and that its lists have changed.
    Task<void> serve_session(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                             core::PrincipalRef principal);
    /// HTTP+SSE: the endpoint for its messages, then all of the session's stream. It ends when its
    /// client does not read.
    Task<void> serve_sse(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                         core::PrincipalRef principal, std::string_view endpoint);
    /// GET with `Last-Event-ID`: the rest of that stream only.
    Task<void> resume(net::HttpExchange& exchange, std::shared_ptr<Session> session,
                      core::PrincipalRef principal, EventId seen);
    /// `subscriptions/listen`, from its acknowledgement to its end. `tasks`: those of its client
    /// that it tells of, as they are now.
    Task<void> listen(net::HttpExchange& exchange, const ClientRequest& request,
                      std::vector<TaskState> tasks);
    /// Ends all streams: each gets its result, if it has one.
    void stop();
    /// Ends the listen streams that were opened with this credential, which was revoked.
    void end_credential(std::string_view credential);

private:
    /// A stream, woken when something may have changed, as long as it lives.
    class StreamRegistration;
    struct Follower {
        std::shared_ptr<RemoteWaiter> waiter;
        std::string credential;
        bool over = false;
    };
    /// From other threads: set when a list may have changed.
    struct ChangeNotice;
    struct Reading {
        std::shared_ptr<Session> session;
        std::shared_ptr<SessionStream> stream;
        std::uint64_t after = 0;  ///< the last event that the client has
        std::string first{};  ///< written before all events
    };
    struct Listening;

    void on_expired() override;
    void look_soon();
    std::vector<ListWatch> lists_for(const Session& session, const core::PrincipalRef& principal);
    Task<void> read(net::HttpExchange& exchange, Reading reading, core::PrincipalRef principal);
    std::optional<Reply> refusal(const ClientRequest& request, std::string_view notifications,
                                 std::shared_ptr<void>& held);
    void watch_resources(Listening& listening, std::string_view notifications);
    void watch_tasks(Listening& listening, const std::vector<TaskState>& tasks);
    Task<void> tell(net::HttpExchange& exchange, Listening& listening,
                    const StreamRegistration& registration);
    void write_ping(net::HttpExchange& exchange);

    // the text promises 100 ms; a burst of changes is looked at once
    static constexpr Milliseconds kBetweenLooks{50};

    const Uses uses_;
    std::vector<std::shared_ptr<Follower>> followers_;
    std::shared_ptr<ChangeNotice> notice_;
    ChangeSignal::Watch of_tools_, of_catalogs_;  ///< while there are followers
    SteadyTime looked_at_{};
    bool stopping_ = false;
};

}  // namespace crab::mcp

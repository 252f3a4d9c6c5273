#pragma once

#include "adapters/mcp/client/upstream_http.hpp"
#include "adapters/mcp/client/upstream_transport.hpp"
#include "base/task/task_group.hpp"
#include "base/task/wakeup.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::mcp {

/// HTTP+SSE of 2024-11-05: one stream for all that comes, whose first event names the place to POST
/// to, which has to be on the same server. Source: docs/protocols/mcp.md, section 2.7.
class SseTransport final : public UpstreamTransport {
public:
    SseTransport(UpstreamHttp::Services services, UpstreamOptions options, net::HttpUrl url);

    Task<Result<void>> start(Deadline deadline) override;
    Task<void> run(UpstreamExchange& exchange, Deadline deadline) override;
    void send(std::string message) override;
    Task<void> deliver(std::string message, Deadline deadline) override;
    Task<void> close() override;

private:
    /// A request on its way, which may outlive who waits for its answer.
    struct Post {
        Post(net::EventLoop& loop, UpstreamExchange& whose, Deadline deadline)
            : limit(loop.timers(), loop.clock(), deadline),
              exchange(&whose),
              message(std::move(whose.message)) {}
        PausableDeadline limit;
        UpstreamExchange* exchange;  ///< null: nobody waits any more
        const std::string message;
        Wakeup ended;
    };
    Task<void> read_stream();
    Task<void> keep_post(std::shared_ptr<Post> post, Deadline deadline);
    Task<void> send_post(Post& post, Deadline deadline);
    bool on_part(const StreamPart& part);
    void end(Error why);

    UpstreamHttp http_;
    std::string target_;  ///< to POST to; empty: not known yet
    std::list<UpstreamExchange*> running_;
    std::optional<Error> end_;
    bool closing_ = false;
    Waiter begun_;  ///< woken once target_ or end_ is there
    TaskGroup tasks_;
};

}  // namespace crab::mcp

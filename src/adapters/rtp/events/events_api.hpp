#pragma once

#include "adapters/rtp/events/event_pump.hpp"
#include "base/task/task_group.hpp"
#include "json/parser.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <optional>

namespace crab::rtp {

/// `/v1/events` and `/v1/events/ack`: publishing, and streams over WebSockets and server-sent
/// events. One per event loop; callers are authenticated by the listener. Source:
/// docs/protocols/rtp.md, section 9.
class EventsApi {
public:
    /// Of the body of one event.
    static constexpr std::size_t kMaxBodyBytes = std::size_t{2} << 20;

    EventsApi(net::EventLoop& loop, EventServices services)
        : loop_(loop), services_(services), tasks_(loop.executor()) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);
    /// Starts no more streams, ends those over WebSockets, then calls `done`. Required before
    /// destruction.
    void stop(std::function<void()> done);

private:
    class Socket;
    class SseReceiver;
    /// An authorized stream that has not started.
    struct Opening {
        EventRequest request;
        core::EventPosition after = 0;
    };
    struct Refusal {
        int status = 400;
        std::string code, message;
    };
    std::expected<EventRequest, Refusal> check(const net::HttpRequest& asked,
                                               const core::Principal& principal);
    std::expected<Opening, Refusal> begin(EventRequest request, const core::Principal& principal,
                                          core::EventPosition newest);
    std::expected<Opening, Refusal> open(const net::HttpRequest& asked,
                                         const core::Principal& principal);
    std::expected<Opening, Refusal> open_socket(const net::HttpRequest& asked,
                                                const core::Principal& principal);
    std::expected<void, Refusal> check_publisher(const PublishedEvent& event,
                                                 const core::Principal& principal,
                                                 std::string_view lease) const;
    net::Upgrade upgrade(const net::HttpRequest& request, core::PrincipalRef principal);
    Task<void> publish(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> stream(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> acknowledge(net::HttpExchange& exchange, core::PrincipalRef principal);

    net::EventLoop& loop_;
    EventServices services_;
    json::Parser parser_{{.max_bytes = kMaxBodyBytes}};
    bool stopping_ = false;
    TaskGroup tasks_;
};

}  // namespace crab::rtp

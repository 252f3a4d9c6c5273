#pragma once

#include "base/task/task_group.hpp"
#include "console/bridge/console_access.hpp"
#include "console/relay/api_relay.hpp"
#include "net/http/routed_service.hpp"
#include "net/loop/periodic.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace crab::console {

/// What `crab console` serves: the session's routes, the page's files, and below `/console/api/`
/// what the gateway answers to the operator, `/ws/chat` too. Only what is known to be needed is
/// passed on, and says that it comes through the console. Whatever runs in a session ends with it,
/// a second later at most. On one event loop.
class ConsoleService final : public net::RoutedService<std::monostate> {
public:
    /// What it uses; all of it outlives it.
    struct Uses {
        net::EventLoop& loop;
        ConsoleAccess& access;
        SessionRecords& records;
        ApiRelay& gateway;
    };
    /// `read_only`: requests to the gateway are GET, and there are no WebSockets.
    ConsoleService(Uses uses, bool read_only);

    /// From here on ends of sessions are looked for.
    void begin();
    /// Ends all sessions, and what runs in them; `done` once that is recorded, or after 2 s.
    void stop_sessions(std::function<void()> done);
    /// Then, last: ends what is left.
    void stop_tasks(std::function<void()> done) { tasks_.stop(std::move(done)); }

    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    net::BodyAdmission admit_body(const net::HttpRequest& request) override;
    Task<void> serve(net::HttpExchange& exchange) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override;

private:
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  ///< of an API request

    Task<void> serve_api(const Request& request, std::string_view method);
    Task<void> serve_file(const Request& request);
    net::Upgrade open_socket(const net::HttpRequest& request, const net::WebSocketUpgrade& offer);
    void end_what_is_over();
    Task<void> write_records();

    const Uses uses_;
    const bool read_only_;
    std::optional<net::Periodic> look_;
    bool writing_ = false;  ///< records
    TaskGroup tasks_;
};

}  // namespace crab::console

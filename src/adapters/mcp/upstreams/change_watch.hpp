#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "base/clock.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// Has an upstream tell of its changes while a session is open: by a listen stream in the modern
/// era; in the legacy one, where changes of lists come by themselves, by subscribing to the
/// resources that somebody watches. The session's listener hears them. Used on one event loop.
/// Source: docs/protocols/mcp.md, sections 4.5 and 5 row 5.
class ChangeWatch {
public:
    ChangeWatch(const Executor& executor, TimerWheel& timers, const Clock& clock,
                std::string source, ResourceWatches& watches)
        : timers_(timers),
          clock_(clock),
          source_(std::move(source)),
          watches_(watches),
          pauses_(executor),
          tasks_(executor) {}

    /// Not before stop() has ended for the session before.
    void start(std::shared_ptr<UpstreamSession> session);
    /// What is watched has changed.
    void look_again();
    /// A resource has changed: told at once, or together with others within 100 ms.
    void updated(std::string_view uri);
    Task<void> stop();

private:
    Task<void> listen();
    Task<void> subscribe();
    Task<void> look_later(SteadyTime when);
    Task<void> tell_later();
    std::string listen_params() const;
    Task<bool> subscription(std::string_view method, const std::string& uri);

    TimerWheel& timers_;
    const Clock& clock_;
    const std::string source_;
    ResourceWatches& watches_;
    std::shared_ptr<UpstreamSession> session_;
    std::set<std::string> subscribed_;
    std::vector<std::string> asked_;  ///< what the listen stream asks for
    SteadyTime asked_at_{};
    std::set<std::string, std::less<>> updated_;  ///< to be told soon
    bool looking_later_ = false, telling_later_ = false;
    bool modern_ = false, running_ = false, again_ = false, stopping_ = false;
    TaskGroup pauses_, tasks_;
};

/// Whether a capabilities object has `capability`, and in it `flag` as true (empty: any).
bool has_capability(std::string_view capabilities, std::string_view capability,
                    std::string_view flag = {});

}  // namespace crab::mcp

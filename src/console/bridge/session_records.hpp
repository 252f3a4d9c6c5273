#pragma once

#include "base/task/task.hpp"
#include "console/console_sessions.hpp"
#include "net/http/http_client.hpp"
#include "net/loop/event_loop.hpp"

#include <cstdint>
#include <deque>
#include <string>

namespace crab::console {

/// Has the gateway record in its audit log which sessions began and ended, and tries to sign in
/// that failed. On the loop's thread.
class SessionRecords {
public:
    /// Both outlive it.
    SessionRecords(net::EventLoop& loop, net::HttpClient& gateway)
        : loop_(loop), gateway_(gateway) {}

    /// Errors: kUnavailable, when it cannot be recorded; then nobody may sign in.
    Task<Result<void>> opened(std::uint64_t number);
    /// These are recorded by write_noted(). Beyond a few hundred the oldest are forgotten.
    void note_refused();
    void note_ended(const ConsoleSessions::Ended& ended);
    /// Records what was noted, in order; the rest waits for the next time when the gateway is not
    /// there, or `deadline` has passed.
    Task<void> write_noted(Deadline deadline);
    bool has_noted() const { return !noted_.empty(); }

private:
    void note(std::string change);
    Task<bool> post(std::string change, Deadline deadline);

    net::EventLoop& loop_;
    net::HttpClient& gateway_;
    std::deque<std::string> noted_;
};

}  // namespace crab::console

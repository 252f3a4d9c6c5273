#pragma once

#include "base/task/task.hpp"
#include "base/task/wakeup.hpp"
#include "net/http/http_exchange.hpp"
#include "net/http/http_reply.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::console {

/// One answer on its way to a browser, piece by piece as it comes: event streams too, and never
/// more of it in memory than a browser's connection holds. On the loop's thread.
class AnswerRelay final : public net::HttpBodySink {
public:
    explicit AnswerRelay(net::HttpExchange& exchange) : exchange_(exchange) {}

    bool takes(const net::HttpReply& head) override;
    bool on_body(std::string_view piece) override;
    bool pauses(const std::function<void()>& resume) override;
    Milliseconds patience() const override { return std::chrono::hours(24); }

    /// Lets reading go on whenever the browser has caught up; until finish().
    Task<bool> pace();
    /// The answer is complete, or nothing more of it will come: because the gateway failed, or
    /// because the session has ended.
    void finish(const net::HttpResult& result, bool session_ended);

private:
    void answer_at_once(const net::HttpResult& result, bool session_ended);

    net::HttpExchange& exchange_;
    Wakeup wakeup_;
    std::function<void()> resume_;  // set while reading is paused
    bool streaming_ = false, finished_ = false;
};

}  // namespace crab::console

#pragma once

#include "base/task/task_group.hpp"
#include "bus/mail_box.hpp"
#include "fleet/beats.hpp"
#include "fleet/forwarder.hpp"
#include "fleet/moved_calls.hpp"
#include "fleet/owner.hpp"

#include <functional>
#include <string_view>

namespace crab::fleet {

/// Hands the letters of one loop to those that they are for, and says this process's beats.
class Letters final : public bus::MailBox::Reader {
public:
    struct Uses {
        bus::MailBox& mail;
        Beats& beats;
        Owner& owner;
        Forwarder& forwarder;
        MovedCalls& moved;
        /// Of a HINT, its body; may be empty
        std::function<void(std::string_view body)> on_hint;
        const Clock& clock;
        Executor home;
        TimerWheel& timers;
    };
    explicit Letters(Uses uses) : uses_(std::move(uses)), tasks_(uses_.home) {}

    /// Says beats until stop().
    void start() { tasks_.spawn("beats", say_beats()); }
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

    void on_letter(const bus::Envelope& envelope, std::string_view body) override;
    void on_nobody(bus::Receipt receipt) override { uses_.forwarder.on_nobody(receipt); }

private:
    Task<void> say_beats();

    Uses uses_;
    TaskGroup tasks_;
};

}  // namespace crab::fleet

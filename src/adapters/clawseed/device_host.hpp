#pragma once

#include "adapters/clawseed/pending_replies.hpp"
#include "adapters/clawseed/wire.hpp"
#include "base/task/waiter.hpp"
#include "core/call/tool_gate.hpp"
#include "core/call/tool_host.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace crab::clawseed {

/// The sending end of a device's connection, as its calls need it. Used on the connection's own
/// loop only.
class DeviceLink {
public:
    virtual ~DeviceLink() = default;
    /// Writes a request that is complete; tells `starts_at`. False when the link is gone.
    virtual bool send_request(std::string_view frame, std::uint64_t& starts_at) = 0;
    virtual void send(std::string_view frame) = 0;
    /// The device has accepted nothing for too long: a ping, and later the end of the link if it
    /// stays silent.
    virtual void check_alive() = 0;
    virtual SteadyTime last_heard() const = 0;
    virtual void drop_dead_link() = 0;
};

/// Runs the tools of one connection. Calls come from any event loop; the link is on its own.
/// Outlives its connection while calls refer to it: then they are answered kUnavailable.
class DeviceHost final : public core::ToolHost, public std::enable_shared_from_this<DeviceHost> {
public:
    struct Options {
        std::size_t max_calls = 64;  ///< out at one time
        std::size_t queue = core::ToolGate::kDefaultQueue;  ///< calls that wait for others to end
        Milliseconds grace{15'000};
    };
    DeviceHost(net::EventLoop& loop, ConnectionId connection,
               std::shared_ptr<PendingReplies> replies, Options options)
        : loop_(loop),
          connection_(connection),
          replies_(std::move(replies)),
          options_(options),
          line_(std::make_shared<core::ToolGate>(1, options.queue)) {}

    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

    /// Called on the connection's loop: from here on calls go out, and stop() when it has ended.
    void start(DeviceLink& link) { link_ = &link; }
    void stop();
    /// The device remembers what it was asked for as long as it is this instance: asks it again, on
    /// the connection's loop, what other connections of it left unanswered.
    void resume(std::string instance);
    void set_extensions(Extensions extensions) { extensions_ = extensions.bits(); }
    std::size_t calls_out() const { return calls_out_.load(std::memory_order_relaxed); }

private:
    bool take_slot();
    void leave_slot();
    void wake_first();
    Task<Result<void>> wait_for_slot(net::EventLoop& home, Deadline deadline);
    bool speaks(Extension extension) const {
        return (extensions_.load(std::memory_order_relaxed) >> static_cast<unsigned>(extension) &
                1u) != 0;
    }
    RequestExtras extras_for(std::chrono::nanoseconds left, std::string_view principal,
                             std::string_view agent) const;
    void send_request(std::uint64_t tag, std::string_view id, const core::AdmittedCall& call,
                      SteadyTime now);
    void send_cancel(std::string_view id, std::string_view reason);
    void ask_again(std::string_view id, const core::AdmittedCall& call, SteadyTime now);
    template <class F>
    void on_link_loop(F function);

    net::EventLoop& loop_;
    const ConnectionId connection_;
    const std::shared_ptr<PendingReplies> replies_;
    const Options options_;
    DeviceLink* link_ = nullptr;  ///< on loop_ only
    std::string instance_;  ///< on loop_ only; empty: asks nothing again
    std::atomic<std::uint16_t> extensions_{0};
    std::atomic<std::size_t> calls_out_{0};
    std::atomic<std::size_t> in_line_{0};  ///< calls that wait for a slot
    /// Whoever is through it is the first, and takes the next slot
    const std::shared_ptr<core::ToolGate> line_;
    std::mutex first_mutex_;
    std::shared_ptr<RemoteWaiter> first_;  ///< under first_mutex_
    std::atomic<bool> ended_{false};
};

}  // namespace crab::clawseed

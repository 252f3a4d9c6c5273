#pragma once

#include "adapters/clawseed/other_nodes.hpp"
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

/// Sends requests over a device's connection. Used on the connection's loop only.
class DeviceLink {
public:
    virtual ~DeviceLink() = default;
    /// Writes a complete request and sets `starts_at`. False when the connection is closed.
    virtual bool send_request(std::string_view frame, std::uint64_t& starts_at) = 0;
    virtual void send(std::string_view frame) = 0;
    /// The device has accepted nothing for too long: sends a ping, and closes the connection if
    /// that gets no answer.
    virtual void check_alive() = 0;
    virtual SteadyTime last_heard() const = 0;
    virtual void drop_dead_link() = 0;
    /// Whether the device may have forgotten this request, because its answer was acknowledged.
    virtual bool may_be_forgotten(std::string_view) const { return false; }
};

/// Runs the tools of one connection. Calls come from any event loop; the link stays on the
/// connection's. It may outlive the connection; calls are then answered with kUnavailable.
class DeviceHost final : public core::ToolHost, public std::enable_shared_from_this<DeviceHost> {
public:
    struct Options {
        std::size_t max_calls = 64;  ///< in flight
        std::size_t queue = core::ToolGate::kDefaultQueue;  ///< calls that wait for others to end
        Milliseconds grace{15'000};
    };
    DeviceHost(net::EventLoop& loop, ConnectionId connection,
               std::shared_ptr<PendingReplies> replies, Options options)
        : loop_(loop),
          connection_(connection),
          replies_(std::move(replies)),
          options_(options),
          queue_gate_(std::make_shared<core::ToolGate>(1, options.queue)) {}

    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

    /// Called on the connection's loop once calls can be sent; stop() when it has closed.
    void start(DeviceLink& link) { link_ = &link; }
    void stop();
    /// Sends the unanswered requests of this device's earlier connections again, on the
    /// connection's loop; `instance` is the device process that still remembers them.
    void resume(std::string instance);
    /// Sends a request that waits at another node of the fleet, on the connection's loop.
    void ask_for_other(const RequestOfOther& request);
    /// Nobody waits for that any more.
    void cancel_for_other(std::string_view id) { send_cancel(id, "cancelled"); }
    std::uint64_t process() const override { return process_.load(std::memory_order_relaxed); }
    /// Before its tools are registered: other nodes of the fleet may ask this process for what this
    /// one has sent it.
    void set_process(std::uint64_t process) { process_ = process; }
    void set_extensions(Extensions extensions) { extensions_ = extensions.bits(); }

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
                             std::string_view agent, std::string_view traceparent) const;
    void send_request(std::uint64_t tag, const UuidText& id, const core::AdmittedCall& call,
                      SteadyTime now);
    bool await_reply(PendingReply& reply, const core::AdmittedCall& call);
    void send_cancel(std::string_view id, std::string_view reason);
    void ask_again(std::string_view id, const core::AdmittedCall& call, SteadyTime now);
    struct AcceptanceWatch;
    void hurry(AcceptanceWatch& watch, std::string_view id, const core::AdmittedCall& call,
               SteadyTime now);
    template <class F>
    void on_link_loop(F function);

    net::EventLoop& loop_;
    const ConnectionId connection_;
    const std::shared_ptr<PendingReplies> replies_;
    const Options options_;
    DeviceLink* link_ = nullptr;  ///< on loop_ only
    std::string instance_;  ///< on loop_ only; empty: nothing is sent again
    std::atomic<std::uint16_t> extensions_{0};
    std::atomic<std::uint64_t> process_{0};
    std::atomic<std::size_t> calls_out_{0};
    std::atomic<std::size_t> in_line_{0};  ///< calls that wait for a slot
    /// Its holder is first in the queue and takes the next slot
    const std::shared_ptr<core::ToolGate> queue_gate_;
    std::mutex first_mutex_;
    std::shared_ptr<RemoteWaiter> first_;  ///< under first_mutex_
    std::atomic<bool> ended_{false};
};

}  // namespace crab::clawseed

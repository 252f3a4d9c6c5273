#pragma once

#include "base/task/waiter.hpp"
#include "fleet/call_news.hpp"
#include "fleet/forwarder.hpp"
#include "fleet/result_pieces.hpp"

#include <map>
#include <optional>
#include <string>

namespace crab::fleet {

/// One call that home has forwarded: which processes may run it, and what they have said.
class Forwarder::Forwarding {
public:
    Forwarding(Forwarder& forwarder, core::AuthenticatedCall call, core::FrameSink& sink,
               core::WhileRunning repeats);
    ~Forwarding();
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    Task<core::CallEnd> run(Route first);

    void on_taken(bus::Process from);
    void on_refused(bus::Process from, std::uint64_t copy);
    void on_result(bus::Process from, ReceivedResult result);
    void on_nobody(bus::Receipt receipt);
    void on_news(bus::Process from, const News& news);
    /// What has come of its result; null: a process that was not asked.
    PiecesIn* pieces_of(bus::Process from) {
        return asked_.contains(from) ? &pieces_[from] : nullptr;
    }
    void look_now() { waiter_.wake(); }
    const ForwardId& id() const { return id_; }

private:
    /// A process that has been sent a copy and has not proven that it will not begin it.
    struct Asked {
        Route route;
        bus::Receipt receipt{};  ///< of the newest copy, as the next
        std::uint64_t sequence = 0;
        unsigned copies = 0;
        SteadyTime heard;  ///< when it last said something of this call
    };
    /// What run() does next.
    enum class Step : std::uint8_t { kEnd, kWait };

    Task<Step> take_step();
    Task<Step> all_have_refused();
    Task<Step> look_for_another();
    Task<Step> run_here();
    Step end_with(ErrorCode code, const char* message);
    Step end_in_doubt(const char* message);
    void list_as_running(const Route& route);
    void end_with_result();
    bool send(const Route& route);
    void repeat();
    void cancel();
    bool is_doubtful(bus::Process process, const Asked& asked) const;
    bool all_doubtful() const;
    SteadyTime next_event() const;
    SteadyTime now() const { return uses().clock.steady_now(); }
    const Uses& uses() const { return forwarder_.uses_; }
    std::uint32_t ms_left() const;

    Forwarder& forwarder_;
    const core::AuthenticatedCall call_;
    /// The call as it is listed: other threads read that, and send() changes what it sends
    core::Call listed_;
    std::string tenant_;
    std::optional<core::RunningCalls::Entry> entry_;
    core::FrameSink& sink_;
    const core::WhileRunning repeats_;
    const SteadyTime begun_;
    ForwardId id_;
    std::uint64_t tag_ = 0;
    bool repeatable_ = false;  ///< a ledger knows the call, or the caller knows how to ask again
    Deadline deadline_ = kNoDeadline;
    std::map<bus::Process, Asked> asked_;
    std::optional<std::pair<bus::Process, ReceivedResult>> result_;
    std::map<bus::Process, PiecesIn> pieces_;
    std::uint64_t last_news_ = 0;
    bool looked_again_ = false;
    bool cancelled_ = false;
    bool too_long_ = false;  ///< for a message
    SteadyTime next_repeat_, next_look_, next_cancel_, give_up_;
    std::uint64_t repeated_ = 0;  ///< times
    std::optional<core::CallEnd> end_;
    Waiter waiter_;
};

}  // namespace crab::fleet

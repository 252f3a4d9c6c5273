#pragma once

#include "base/counter.hpp"
#include "base/doubling_delay.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"
#include "bus/mail_box.hpp"
#include "core/pipeline/call_runner.hpp"
#include "fleet/beats.hpp"
#include "fleet/messages.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

namespace crab::fleet {

/// The owner's side of forwarded calls: runs those whose link is here through this node's own
/// pipeline, once for each forward id, and repeats what became of them until home has heard it.
/// Used on one loop. Source: docs/protocols/fleet.md, section 5.
class Owner {
public:
    static constexpr Milliseconds kTakenAfter{50};
    static constexpr DoublingDelay kRepeat{.first = Milliseconds(200),
                                           .longest = Milliseconds(5'000)};
    /// An end that nobody acknowledges is repeated for so long
    static constexpr std::chrono::seconds kRepeated{60};
    /// So long an id is remembered after it was refused or acknowledged: older messages are stale
    static constexpr std::chrono::seconds kRemembered{15};
    /// And after it came first: home sends no more of it by then (Forwarder::kSends), and what it
    /// has sent is stale
    static constexpr std::chrono::seconds kSinceFirst{75};
    static constexpr std::size_t kMostRunning = 16'384, kMostKnown = 262'144;
    /// Of results that are not acknowledged, of those in pieces
    static constexpr std::size_t kMostInPieces = std::size_t{256} << 20;
    static constexpr std::size_t kMostOfOneHome = kMostInPieces / 2;

    struct Uses {
        bus::MailBox& mail;
        Beats& beats;
        core::CallRunner& calls;  ///< of this loop of this node
        /// Whether the link that a forward names is here
        std::function<bool(const ForwardHead&)> is_here;
        const Clock& clock;
        Executor home;
        TimerWheel& timers;
    };
    explicit Owner(Uses uses) : uses_(std::move(uses)), tasks_(uses_.home) {}
    ~Owner();

    // Letters to this loop.
    void on_forward(const bus::Envelope& envelope, std::string_view body);
    void on_ack(std::string_view body);
    void on_cancel(const bus::Envelope& envelope, std::string_view body);
    void on_credit(const bus::Envelope& envelope, std::string_view body);

    /// Ends that home has not acknowledged yet. Thread-safe.
    std::size_t unheard() const { return unheard_; }
    /// Cancels what runs.
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

    struct Counts {
        Counter begun, refused, stale, known_again, results_repeated, given_up, unreadable;
    };
    const Counts& counts() const { return counts_; }
    std::size_t running() const { return running_; }
    std::size_t known() const { return known_.size(); }

private:
    struct Known;
    using KnownRef = std::shared_ptr<Known>;

    void begin(const bus::Envelope& envelope, const ForwardHead& head, std::string_view body);
    void refuse(const bus::Envelope& envelope, ForwardId id, Refusal why);
    void answer_again(Known& known, const bus::Envelope& envelope);
    Task<void> host(KnownRef known);
    Task<void> run(Known& known);
    void end(Known& known, const core::CallEnd& end);
    void send_taken(const Known& known);
    void send_refused(const Known& known, std::uint64_t copy);
    void send_result(Known& known);
    void send_pieces(Known& known);
    void keep_result(Known& known, const core::CallEnd& ended);
    bool hold_pieces(const Known& known);
    void release_pieces(const Known& known);
    void on_timer(Known& known);
    void forget_when_safe(Known& known, SteadyTime acknowledged);
    SteadyTime now() const { return uses_.clock.steady_now(); }

    Uses uses_;
    std::map<ForwardId, KnownRef> known_;
    std::size_t running_ = 0;
    std::size_t in_pieces_ = 0;  ///< bytes
    std::map<bus::Process, std::size_t> in_pieces_of_;  ///< those, by home
    std::atomic<std::size_t> unheard_{0};
    Counts counts_;
    TaskGroup tasks_;
};

}  // namespace crab::fleet

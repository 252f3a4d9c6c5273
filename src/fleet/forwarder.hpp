#pragma once

#include "base/counter.hpp"
#include "base/doubling_delay.hpp"
#include "base/id_source.hpp"
#include "bus/mail_box.hpp"
#include "core/call/running_calls.hpp"
#include "core/pipeline/call_runner.hpp"
#include "fleet/beats.hpp"
#include "fleet/directory.hpp"
#include "fleet/messages.hpp"

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>

namespace crab::fleet {

/// Home's side: runs a call here or has the node run it that has the tool, and says of a call that
/// nothing was run only if every process that a copy was sent to has proven that. Used on one loop.
/// Source: docs/protocols/fleet.md, section 5, "When home hears nothing".
class Forwarder final : public core::CallRunner {
public:
    static constexpr DoublingDelay kRepeat{.first = std::chrono::seconds(1),
                                           .longest = std::chrono::seconds(5)};
    /// Copies that may begin the call are sent for so long; then it is only asked for
    static constexpr std::chrono::seconds kSends{45};
    /// A process that lives and says nothing of the call for so long knows nothing of it any more
    static constexpr std::chrono::seconds kUnanswered{30};
    static constexpr std::chrono::seconds kLookAgain{1};
    /// How long a cancelled call is waited for
    static constexpr std::chrono::seconds kAfterCancel{5};
    /// Of results that have come in part, of all calls
    static constexpr std::size_t kMostInPieces = std::size_t{256} << 20;

    struct Uses {
        bus::MailBox& mail;
        Beats& beats;
        Directory& directory;
        core::CallRunner& here;  ///< this loop's pipeline
        core::RunningCalls* running;  ///< lists and cancels what is forwarded too; may be null
        IdSource& ids;
        const Clock& clock;
        TimerWheel& timers;
    };
    explicit Forwarder(Uses uses) : uses_(uses) {}

    using CallRunner::run;
    Task<core::CallEnd> run(core::AuthenticatedCall call, core::FrameSink& sink,
                            core::WhileRunning repeats) override;

    /// This node stops: who waits still hears that the outcome is not known, and goes on at a node
    /// that lives; nothing is forwarded any more.
    void stop_waiting();

    // Letters to this loop.
    void on_taken(const bus::Envelope& envelope, std::string_view body);
    void on_refused(const bus::Envelope& envelope, std::string_view body);
    void on_result(const bus::Envelope& envelope, std::string_view body);
    void on_news(const bus::Envelope& envelope, std::string_view body);
    void on_nobody(bus::Receipt receipt);

    struct Counts {
        Counter forwarded, repeated, refused, nobody, in_doubt, looked_up_again, unreadable;
        Counter contradictions;  ///< ends by a process that had said it would not begin
    };
    const Counts& counts() const { return counts_; }
    std::size_t waiting() const { return waiting_.size(); }

private:
    class Forwarding;
    friend Forwarding;

    Forwarding* find(std::uint64_t tag, ForwardId id);
    void on_whole_result(const bus::Envelope& envelope, std::string_view body);
    void on_piece(const bus::Envelope& envelope, std::string_view body);
    bool is_here(const Route& route) const {
        return bus::process_of(route.place) == bus::process_of(uses_.mail.self());
    }

    Uses uses_;
    bool stopping_ = false;
    std::uint64_t tags_ = 0;
    std::map<std::uint64_t, Forwarding*> waiting_;  ///< by tag; each lives in its run()
    /// Copies of which the carrier may still say that nobody has got them
    std::unordered_map<std::uint64_t, std::uint64_t> receipts_;
    std::size_t in_pieces_ = 0;  ///< bytes of results that have come in part
    Counts counts_;
};

}  // namespace crab::fleet

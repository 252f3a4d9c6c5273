#pragma once

#include "base/clock.hpp"
#include "base/counter.hpp"
#include "base/task/timer_wheel.hpp"
#include "bus/mail_box.hpp"
#include "core/call/effects_lease.hpp"
#include "fleet/beats.hpp"
#include "fleet/moved_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::fleet {

/// Calls whose device has come back at another node: the node where they wait (the asker) asks for
/// their answers where the device is now. Used on the first loop of a node.
/// Source: docs/protocols/fleet.md, section 5, "The device moves".
class MovedCalls final : private TimerNode {
public:
    static constexpr std::chrono::seconds kAskEvery{1};
    /// A node that says nothing for so long of a link has it no more
    static constexpr std::chrono::seconds kSilent{8};
    static constexpr std::size_t kMostAsked = 16'384, kMostTold = 16'384;
    /// Of one process of a device, at which its answer may come
    static constexpr std::size_t kMostLinks = 4;
    /// An answer that is not recorded by then is acknowledged when it comes again
    static constexpr std::chrono::seconds kKeptWithin{60};

    /// The calls that wait at this node.
    class Waiting {
    public:
        virtual ~Waiting() = default;
        struct Out {
            DeviceRequest request;
            Deadline deadline = kNoDeadline;
            core::RightToSend right;  ///< without it the request is not sent
        };
        /// What was written to this device process and has no answer. It may have been seen.
        virtual std::vector<Out> unanswered(const DeviceProcess& device) = 0;
        virtual bool waits(const DeviceProcess& device, std::string_view id) = 0;
        /// Whether a link at another node has the request: then it does not end with its own link.
        virtual void set_held(const DeviceProcess& device, std::string_view id, bool held) = 0;
        /// Without a frame: one that no message takes. `kept`: called on the loop of MovedCalls
        /// when the device need not keep it any more; never, if it is not recorded.
        virtual void answer(const DeviceProcess& device, std::string_view id,
                            std::optional<std::string> frame, std::function<void()> kept) = 0;
        /// The device works on it.
        virtual void progress(const DeviceProcess& device, std::string_view id,
                              const std::string& frame) = 0;
    };
    /// The devices that are linked at this node.
    class Links {
    public:
        virtual ~Links() = default;
        /// A RESUME; what comes of it is said by tell(), on this loop.
        virtual void on_resume(const bus::Place& asker, std::uint8_t flags, Resume resume,
                               Deadline deadline) = 0;
    };

    struct Uses {
        bus::MailBox& mail;
        Beats& beats;
        Waiting* waiting = nullptr;
        Links* links = nullptr;
        const Clock& clock;
        TimerWheel& timers;
    };
    explicit MovedCalls(Uses uses) : uses_(uses) {}

    /// The links of the node, before letters come.
    void open(Waiting& waiting, Links& links) {
        uses_.waiting = &waiting;
        uses_.links = &links;
    }
    void close() {
        disarm();
        uses_.waiting = nullptr;
        uses_.links = nullptr;
    }

    /// A device process is linked here now: tells all, a few times.
    void announce(const Moved& moved);
    void tell(const bus::Place& asker, Reply reply);

    // Letters to this loop.
    void on_moved(const bus::Envelope& envelope, std::string_view body);
    void on_resume(const bus::Envelope& envelope, std::string_view body);
    void on_reply(const bus::Envelope& envelope, std::string_view body);

    struct Counts {
        Counter asked, answered, lost, stale, unreadable;
        Counter foreign;  ///< replies of a link that was not asked
    };
    const Counts& counts() const { return counts_; }
    std::size_t asked() const { return asked_.size(); }

private:
    struct Link {
        bus::Place place;
        std::uint64_t connection = 0;
        bool has_it = false;  ///< has said that it has the request
        SteadyTime heard;
    };
    struct Asked {
        DeviceProcess device;
        Waiting::Out out;
        std::vector<Link> links;
    };
    struct Told {
        Moved moved;
        SteadyTime next;
        std::size_t times = 1;
    };

    void on_expired() override;
    void wake_at(SteadyTime time);
    void say(const Moved& moved);
    void ask(const Asked& asked, const Link& link);
    void send_word(std::uint8_t flag, const bus::Place& place, const std::string& id,
                   std::uint64_t connection);
    void on_answer(const bus::Place& place, Reply reply);
    bool is_being_recorded(std::string_view id);
    bool ask_again(Asked& asked);
    void lose(Asked& asked);
    SteadyTime now() const { return uses_.clock.steady_now(); }

    Uses uses_;
    std::map<std::string, Asked, std::less<>> asked_;  ///< by request
    std::map<std::string, SteadyTime, std::less<>> recording_;  ///< answers, since when
    std::vector<Told> told_;
    SteadyTime next_ask_{}, next_wake_{};
    Counts counts_;
};

}  // namespace crab::fleet

#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/id_source.hpp"
#include "json/parser.hpp"
#include "net/websocket/websocket_session.hpp"
#include "sdk/alarm.hpp"
#include "sdk/backoff.hpp"
#include "sdk/device_frames.hpp"
#include "sdk/device_ports.hpp"
#include "sdk/outbox.hpp"
#include "sdk/seen_calls.hpp"

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::sdk {

/// State machine of a device's connection, without sockets or threads: fetch a token, dial,
/// register, answer calls, and reconnect with backoff. Used on one thread. Source:
/// docs/protocols/clawseed.md, section 10.
class DeviceLink {
public:
    static constexpr Milliseconds kGatherChanges{100};
    static constexpr Milliseconds kDeadAfter{60'000};     ///< without a frame or ping
    static constexpr Milliseconds kUsualTimeout{30'000};  ///< of a request that names no deadline
    static constexpr Milliseconds kMaxRetryAfter{3'600'000};
    /// Replies without an acknowledgement, where the gateway resumes calls; then twice that, …
    static constexpr Milliseconds kSendAgain{5'000};
    static constexpr Milliseconds kSendAgainAtMost{60'000};
    /// Replies after a break: the gateway may notice it later than this side
    static constexpr Milliseconds kKeepForResume{600'000};

    struct Options {
        std::string name;
        std::string session_id;
        bool reconnect = true;
        /// Given to the calls; takes it to progress() on the link's thread
        CallState::OnProgress on_progress;
    };
    /// Sources of time and randomness.
    struct Services {
        const Clock& clock;
        TimerWheel& timers;
        IdSource& random;
    };

    DeviceLink(Options options, Services services, const DeviceTools& tools, DevicePorts& ports);

    void start();
    /// Requested by the owner: closes cleanly and ends.
    void stop();
    /// DeviceTools has changed.
    void tools_changed();
    /// Sets the device's state; sent to gateways that support it, now and after every reconnect.
    void set_presence(const DevicePresence& presence);

    void on_token(std::expected<std::string, DeviceEnd> token);
    void on_open();
    /// Dialling failed. `details` of a refusal by HTTP hold {"status":401}.
    void on_refused(const Error& error);
    void on_text(std::string_view text);
    void on_closed(const net::CloseInfo& info);

    /// A handler is done. Dropped when its call was cancelled, its deadline has passed, or there
    /// was an answer already.
    void finish(const std::string& call_id, const ToolAnswer& answer);
    /// The same for an answer that the gateway holds already.
    void finish_uploaded(const std::string& call_id, const std::string& artifact_id);
    void progress(const std::string& call_id, const ToolProgress& progress);

    std::size_t running_calls() const { return calls_.size(); }

private:
    enum class State : std::uint8_t {
        kIdle,
        kFetchingToken,
        kDialing,
        kOpen,
        kClosing,
        kWaiting,
        kEnded
    };
    struct Running {
        std::shared_ptr<CallState> state;
        std::unique_ptr<Alarm> deadline;
    };

    void dial();
    void need_new_token(std::string why);
    void retry(const std::string& why, Milliseconds at_least);
    void end(DeviceEnd end);
    void send_tools();
    void check_liveness();
    void on_request(const json::Root& request);
    void on_registered(json::Element frame);
    void on_deadline(const std::string& call_id);
    void cancel(std::string_view call_id);
    void reply(const std::string& call_id, const ToolAnswer& answer);
    void deliver(const std::string& call_id, std::string frame);
    void send_again();
    void send_presence();

    const Options options_;
    const Services services_;
    const DeviceTools& tools_;
    DevicePorts& ports_;
    json::Parser parser_;
    Backoff backoff_;
    Outbox outbox_;
    SeenCalls seen_;
    const std::string instance_;
    GatewayTerms terms_;
    std::unordered_map<std::string, Running> calls_;
    std::string token_;
    std::string session_id_;
    std::string device_;  // our name in qualified tool names, if the gateway tells
    std::string refusal_;  // why the last token was refused
    Alarm redial_;
    Alarm gather_;
    Alarm liveness_;
    Alarm send_again_;
    Alarm tell_presence_;
    std::optional<DevicePresence> presence_;
    Milliseconds send_again_in_ = kSendAgain;
    State state_ = State::kIdle;
    bool terms_known_ = false;  // `connected` has come on this link
    bool changes_pending_ = false;  // tools changed before it came
    bool announced_ = false;  // kConnected was reported for this link
    bool token_wanted_ = false;  // it could not be fetched, and is before the next dial
    bool token_is_new_ = false;  // it was refused once and replaced, and no link has opened since
};

}  // namespace crab::sdk

#pragma once

#include "adapters/clawseed/chat.hpp"
#include "adapters/clawseed/other_nodes.hpp"
#include "adapters/clawseed/pending_replies.hpp"
#include "adapters/clawseed/registration.hpp"
#include "adapters/clawseed/uploads.hpp"
#include "base/ordered_mutex.hpp"
#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/fair_pool.hpp"
#include "core/audit/audit_log.hpp"
#include "core/call/artifact_store.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/chat/turn.hpp"
#include "core/chat/turn_log.hpp"
#include "core/pipeline/away_calls.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/policy/principal_limits.hpp"
#include "core/registry/registry.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {
class DeviceTools;
}

namespace crab::clawseed {

class DeviceSession;

struct Options {
    std::string path_prefix;
    std::vector<std::string> allowed_origins, host_names;
    bool open_loopback = false;
    bool query_token = true;
    bool permessage_deflate = false;
    std::size_t max_message_bytes = std::size_t{16} << 20;
    std::size_t json_depth = 64;
    std::size_t max_connections_per_principal = 32;
    std::size_t calls_per_connection = 64;
    std::size_t waiting_turns = 8;
    Milliseconds grace{15'000};
    Milliseconds ping_after{20'000};
    Milliseconds turn_wait{30'000};
    RegistrationLimits registration;
    std::vector<ToolOverride> overrides;
    std::vector<std::string> personas;
    /// Tools that a known device adds need an operator's approval
    bool ask_about_new_tools = false;
    /// A chat's owner may approve its calls; otherwise only operators
    bool owners_approve = false;
    std::size_t artifact_inline_bytes = 256 * 1024;  ///< above this, results should be uploaded
    std::uint64_t artifact_bytes = std::uint64_t{64} << 20;  ///< of one upload
    std::size_t uploads_at_once = 64;  ///< of all devices
    /// Name a chat session after its first question (section 2, `title_updated`)
    bool give_titles = false;
};

/// A device's latest status report; absent members are unknown. Source: section 9, `presence`.
struct Presence {
    std::optional<double> battery;  ///< 0 to 1
    std::optional<bool> charging, metered, foreground;
    friend bool operator==(const Presence&, const Presence&) = default;
};

/// One live connection as others see it.
struct ConnectedDevice {
    ConnectionId connection{};
    std::string slug, display_name, principal, credential_id, chat_session;
    std::size_t tools = 0;
    /// Rejected tools, the first few
    std::vector<Rejected> refused{};
    std::vector<core::ToolRef> held{};  ///< wait for an operator
    SystemTime since;
    Presence presence{};
    std::optional<SystemTime> presence_at{};  ///< when it was reported; nothing: never
};

/// State shared by the connections of all event loops: who is connected, the calls in flight per
/// chat session, the chats. Thread-safe.
class Hub {
public:
    struct Services {
        const Clock& clock;
        core::Registry& registry;
        Published<core::CallRules>& rules;
        core::AuditLog& audit;
        core::ChatSessionStore& chats;
        BlockingPool& store_pool;  ///< one thread, so that writes keep their order
        /// Reads tool lists, round-robin between principals; null: inline
        FairPool* schemas = nullptr;
        trust::DeviceTools* device_tools = nullptr;  ///< null: nothing is held back
        core::Approvals* approvals = nullptr;  ///< null: nothing is decided in chats
        core::TurnLog* turn_log = nullptr;  ///< null: turns are not logged
        core::AwayCalls* away = nullptr;  ///< null: no call waits for a device
        core::ArtifactStore* artifacts = nullptr;  ///< null: devices cannot upload
        BlockingPool* artifact_pool = nullptr;  ///< with `artifacts`
        /// A connection has ended, on its loop; may be empty
        std::function<void(const std::string& credential_id)> on_left{};
    };
    /// Gives the turn runner of an event loop; it must outlive the hub's chats.
    using RunnerOf = std::function<core::TurnRunner*(net::EventLoop&)>;

    Hub(Services services, std::shared_ptr<const Options> options, RunnerOf runner_of)
        : services_(services), options_(std::move(options)), runner_of_(std::move(runner_of)) {}
    ~Hub();

    const Services& services() const { return services_; }
    /// Requests about chat sessions that run: what they read and write has one thread for all.
    core::PrincipalLimits& requests() { return requests_; }
    /// Turns that go on when those who asked have left.
    core::PrincipalLimits& detached_turns() { return detached_turns_; }
    std::shared_ptr<const Options> options() const { return options_.get(); }
    /// Called by a reload; applies to new connections, and to new registrations on old ones.
    void set_options(std::shared_ptr<const Options> options) { options_.set(std::move(options)); }

    /// Admits a connection of this principal. Errors: kRateLimited at its limit. Pair every enter()
    /// with a leave().
    Result<ConnectionId> enter(const core::Principal& principal);
    void leave(ConnectionId connection, const core::Principal& principal);

    /// A chat that was opened or resumed.
    struct ChatOpening {
        core::ChatSession session;
        std::shared_ptr<Chat> chat;
        Chat::Ref chat_ref;
        std::shared_ptr<PendingReplies> replies;
        bool resumed = false;
    };
    /// Opens or resumes a chat session. Errors: kForbidden when another principal owns it;
    /// kNotFound for a new one whose persona is not an agent.
    Result<ChatOpening> open_chat(const core::PrincipalRef& principal, std::string_view session_id,
                                  std::string_view name, std::string_view persona);
    /// The chat of this id if `principal` owns it and it is live.
    std::shared_ptr<Chat> find_chat(const core::Principal& principal, std::string_view session_id);
    std::vector<std::shared_ptr<Chat>> chats_of(const core::Principal& principal) const;
    /// Removes a chat that has no references and no running turn from memory; stored messages stay.
    void settle_chat(const std::shared_ptr<Chat>& chat);
    /// Cancels all turns and calls `done`, on any loop, when the last has ended.
    void stop_chats(const std::function<void()>& done);

    /// The agent of chats of this persona, as the runner of that loop knows it; on the loop.
    core::TurnAgent agent_of(net::EventLoop& loop, std::string_view persona) const {
        return runner_of(loop)->agent_of(persona);
    }

    /// The pending replies that contain this request id, in any chat session of `principal`; null
    /// when there are none.
    std::shared_ptr<PendingReplies> find_request(const core::Principal& principal,
                                                 std::string_view request_id) const;

    /// Of this chat session, if calls may wait in it; null: none do.
    std::shared_ptr<PendingReplies> find_replies(std::string_view principal,
                                                 std::string_view session_id) const;

    /// The other nodes of the fleet; null: there are none. Set before connections come, and
    /// cleared when they have ended.
    void set_other_nodes(OtherNodes* others) { other_nodes_ = others; }
    OtherNodes* other_nodes() const { return other_nodes_; }
    /// Hands the link of `connection` a request that waits at another node; it answers by `tell`,
    /// on any loop.
    void ask_for_other(ConnectionId connection, RequestOfOther request, TellOther tell);
    /// Nobody waits for this request any more: the device may stop.
    void cancel_for_other(ConnectionId connection, std::string request_id);
    /// Its asker has the answer to this request.
    void heard_by_other(ConnectionId connection, std::string request_id);

    /// The slug that qualifies the names of a connection's tools; one identity keeps its slug while
    /// it has a connection.
    std::string take_slug(const core::Principal& principal, std::string_view device_name);
    void release_slug(const std::string& slug);

    void add(const std::shared_ptr<DeviceSession>& session, ConnectedDevice device);
    void update(ConnectionId connection, std::size_t tools, std::string slug,
                std::string display_name);
    void set_presence(ConnectionId connection, const Presence& presence);
    void set_refused(ConnectionId connection, std::vector<Rejected> refused);
    void set_held(ConnectionId connection, std::vector<core::ToolRef> held);
    /// What a device offered in vain over its connections, or when it is away over the latest one.
    std::vector<Rejected> refused_of(std::string_view slug) const;
    /// Sets the size of a live connection's compiled schemas.
    void set_schema_bytes(ConnectionId connection, std::size_t bytes);
    /// The total for all other connections of the same principal.
    std::size_t schema_bytes_of_others(ConnectionId connection) const;
    void remove(ConnectionId connection);
    std::vector<ConnectedDevice> connected() const;
    Uploads& uploads() { return uploads_; }
    std::size_t connections() const;
    /// Chat sessions whose calls may still be answered, plus ended ones that are not collected yet.
    std::size_t known_links() const;
    /// Closes the connections behind a credential that was revoked (4401).
    void close_credential(const std::string& credential_id);
    /// Registers what live connections of this device hold back under these names.
    void release_tools(const std::string& slug, const std::vector<std::string>& names);

    /// Records in the log and in one audit record which tools of a list were rejected, within the
    /// principal's rate.
    void record_refusals(const core::Principal& principal, const Registration& registration);

private:
    struct SlugUse {
        std::string identity;
        std::size_t users = 0;
    };
    struct LiveConnection {
        std::weak_ptr<DeviceSession> session;
        ConnectedDevice device;
        std::size_t schema_bytes = 0;
    };
    void count_schema_bytes(LiveConnection& live, std::size_t bytes);
    void keep_refusals(const ConnectedDevice& device);

    static constexpr std::size_t kFirstSweep = 64;
    PendingReplies::Discard discard_artifacts() const;
    bool find_live(std::string_view session_id) const;
    void sweep_links();
    std::shared_ptr<DeviceSession> session_of(ConnectionId connection) const;
    core::TurnRunner* runner_of(net::EventLoop& loop) const { return runner_of_(loop); }

    Services services_;
    Published<Options> options_;
    RunnerOf runner_of_;
    std::atomic<OtherNodes*> other_nodes_{nullptr};
    core::PrincipalLimits requests_{16};
    core::PrincipalLimits detached_turns_{8};
    Uploads uploads_;
    mutable OrderedMutex<LockRank::kHub> mutex_;
    std::uint64_t next_connection_ = 1;
    std::map<std::string, std::size_t, std::less<>> per_principal_;
    /// By principal and chat session
    std::map<std::string, std::weak_ptr<PendingReplies>, std::less<>> links_;
    std::size_t sweep_links_at_ = kFirstSweep;
    std::map<std::string, std::shared_ptr<Chat>, std::less<>> chats_;  ///< live ones by session id
    std::map<std::string, SlugUse> slugs_;
    std::map<ConnectionId, LiveConnection> live_;
    /// What devices that are away had offered in vain, by slug; of at most kMostKeptRefusals
    std::map<std::string, std::vector<Rejected>, std::less<>> kept_refusals_;
    /// Of live connections, by principal
    std::map<std::string, std::size_t, std::less<>> schema_bytes_;
};

}  // namespace crab::clawseed

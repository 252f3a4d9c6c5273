#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/call/principal.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/chat/turn.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::clawseed {

class Hub;

/// Handle of one connection, to which a turn's frames are sent. Thread-safe; sending after the
/// connection has closed does nothing.
class FrameTarget {
public:
    virtual ~FrameTarget() = default;
    virtual void send_frame(std::string frame) = 0;
    virtual ConnectionId connection() const = 0;
    /// Whether this client may approve calls and accepts approval requests.
    virtual bool takes_approvals() const { return false; }
    /// Whether this client can answer an agent's questions during a turn.
    virtual bool takes_questions() const { return false; }
    /// Whether it wants to know under which id the audit log has a call of the turn.
    virtual bool takes_call_ids() const { return false; }
};

struct ChatQuestion {
    std::shared_ptr<FrameTarget> asker;
    std::string content;
    std::vector<std::string> pictures{};   ///< ids of this session's
    std::string files{};                   ///< a JSON array, checked; empty: none
    bool regenerate = false;
    bool debug = false;
    std::string prefer_source;
    /// Its turn goes on without the asker, as long as this is held; null: it does not
    std::shared_ptr<void> detached;
    std::string credential_id{};  ///< of the asker
    std::string traceparent{};    ///< of the asker's span, as it came
    /// Called once, on the chat's loop; may be empty. `called_tools`: a failed turn may still have
    /// had side effects.
    std::function<void(const Result<std::string>& answer, bool called_tools)> on_end;
};

/// The wire code for a failed turn (section 5).
std::string_view turn_code(ErrorCode code);

enum class ChatState : std::uint8_t { kIdle, kRunning, kError };

/// A live chat session: it exists while a client is connected or a turn runs. Turns are queued and
/// run one at a time. It lives on the event loop of the connection that opened it; public functions
/// may be called from any loop. Source: docs/protocols/clawseed.md, section 6.
class Chat final : public std::enable_shared_from_this<Chat> {
public:
    Chat(Hub& hub, net::EventLoop& loop, core::TurnRunner& runner, core::PrincipalRef principal,
         core::ChatSession session);
    ~Chat();

    /// Keeps a chat alive from before a client connects or asks until after it has left.
    class Ref {
    public:
        Ref() = default;
        explicit Ref(std::shared_ptr<Chat> chat) : chat_(std::move(chat)) { ++chat_->refs_; }
        Ref(Ref&&) noexcept = default;
        Ref& operator=(Ref&& other) noexcept {
            release();
            chat_ = std::move(other.chat_);
            return *this;
        }
        ~Ref() { release(); }
        void release() {
            if (const auto chat = std::exchange(chat_, nullptr)) --chat->refs_;
        }

    private:
        std::shared_ptr<Chat> chat_;
    };

    const std::string& id() const { return session_.id.text(); }
    const core::PrincipalRef& principal() const { return principal_; }
    core::ChatSession session() const;

    /// Starts a turn or puts it in the queue; refusals (SESSION_BUSY, NO_USER_MESSAGE) are sent to
    /// the asking connection.
    void ask(ChatQuestion question);
    /// Ends the running turn, if any; `acknowledge(aborted)` is called on this chat's loop before
    /// the turn ends. A turn of the connection `from` is not acknowledged: it gets `aborted`
    /// anyway, or has got it a moment ago.
    void abort(std::function<void(bool aborted)> acknowledge, ConnectionId from = {});
    /// A response to a question of the running turn; `tell(status, error)` is called on this chat's
    /// loop with the verdict.
    struct QuestionResponse {
        std::string request_id, turn_id, tool_call_id;
        std::string frame;  ///< JSON, with `status` and `answer`
    };
    void respond(QuestionResponse response,
                 std::function<void(std::string_view status, std::string_view error)> tell);
    /// Withdraws what `asker` asked: its turn is aborted, or never runs. For askers that are not
    /// connections.
    void withdraw(const std::shared_ptr<FrameTarget>& asker);
    /// Adds a connection of this chat session; it gets the frames of a running turn whose own
    /// connection broke.
    void join(std::shared_ptr<FrameTarget> target);
    /// Removes a connection. Its turn is cancelled: immediately after a clean close, otherwise when
    /// no client reconnects within the grace period. A detached one goes on.
    void leave(ConnectionId connection, bool goodbye);
    /// Cancels what was asked with a credential that is revoked.
    void revoke(const std::string& credential_id);
    void rename(std::string name);
    /// The stored history is being deleted: resets the message count, and hides the chat from
    /// listings until its next message.
    void forget_history();
    bool is_forgotten() const { return forgotten_.load(); }

    ChatState state() const { return state_.load(); }
    std::size_t ref_count() const { return refs_.load(); }
    /// The running turn's id and start, if one runs.
    struct RunningTurn {
        std::string turn_id;
        SystemTime started_at;
    };
    std::optional<RunningTurn> running_turn() const;
    /// Cancels everything and calls `done` when the last turn has ended; on the chat's loop.
    void stop(std::function<void()> done);

private:
    class Turn;
    struct Waiting;
    template <class F>
    void on_loop(F function);
    bool find_asker(Turn& turn);
    void start_next();
    struct Refused {
        std::string_view code;
        std::string message;
    };
    struct Ending {
        Result<std::string> answer = fail(ErrorCode::kInvalidArgs, {});
        bool refused = false, cancelled = false;
    };
    core::TurnRequest request_for(Turn& turn) const;
    Task<Ending> run_agent(Turn& turn, core::TurnRequest request);
    void leave_turn(Turn& turn, const Ending& ending);
    Task<void> run_turn(std::shared_ptr<Turn> turn);
    Task<std::optional<Refused>> claim();
    Task<std::optional<Refused>> take_question(Turn& turn, core::TurnRequest& request);
    Task<std::optional<Refused>> find_pictures(Turn& turn, std::string& extra);
    void refuse(const ChatQuestion& question, std::string_view code, std::string_view message);
    void give_title(Turn& turn);
    void store(core::ChatMessage message);
    core::NewChatSession stored_form() const;
    void begin_turn(Turn& turn, const core::TurnAgent& agent);
    void end_turn(Turn& turn, Result<std::string>& answer, bool cancelled);

    Hub& hub_;
    net::EventLoop& loop_;
    core::TurnRunner& runner_;
    const core::PrincipalRef principal_;
    mutable OrderedMutex<LockRank::kChat> mutex_;  ///< guards session_, history_, running_info_
    core::ChatSession session_;
    std::optional<RunningTurn> running_info_;
    std::atomic<ChatState> state_{ChatState::kIdle};
    std::atomic<std::size_t> refs_{0};
    std::atomic<bool> forgotten_{false};
    bool stopping_ = false;
    std::vector<std::shared_ptr<FrameTarget>> targets_;
    Deadline empty_until_{};  ///< when the grace period after the last disconnect ends
    /// Who was last told `aborted` without having asked for it by a frame, and when
    std::pair<ConnectionId, SteadyTime> told_aborted_{};
    std::deque<std::unique_ptr<Waiting>> waiting_;
    std::shared_ptr<Turn> current_;
    TaskGroup tasks_;
};

}  // namespace crab::clawseed

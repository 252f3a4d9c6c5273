#pragma once

#include "adapters/mcp/upstreams/change_watch.hpp"
#include "adapters/mcp/upstreams/offer.hpp"
#include "adapters/mcp/upstreams/session_pool.hpp"
#include "adapters/mcp/upstreams/upstream_settings.hpp"
#include "base/log_budget.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/fair_pool.hpp"
#include "core/call/circuit_breaker.hpp"
#include "core/registry/registry.hpp"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace crab::mcp {

/// The life of one configured upstream: keeps a session with it, reads its lists into the registry
/// and the catalogs, and runs the calls of its tools. One that is away keeps what it last offered.
/// Used on one event loop but for status(). Source: docs/protocols/mcp.md, sections 2.6, 4.5, 8.
class Upstream final : public UpstreamCalls,
                       public std::enable_shared_from_this<Upstream>,
                       private UpstreamListener {
public:
    struct Uses {
        Executor executor;
        TimerWheel& timers;
        const Clock& clock;
        core::Registry& registry;
        Catalogs& catalogs;
        ResourceWatches& watches;
        UpstreamConnector& connector;
        trust::PinStore& pins;
        FairPool& schemas;   ///< compiles schemas
        BlockingPool& files;  ///< for the store of pins
    };
    /// Its names are expected from now on. `owner`: in the registry, unique.
    Upstream(const Uses& uses, UpstreamSettings settings, ConnectionId owner);

    /// Lives until leave() was called, or its chain is cancelled; then closes everything and ends
    /// when the last call has.
    static Task<void> live(std::shared_ptr<Upstream> upstream);
    /// Withdraws what it offers at once and has live() end.
    void leave();

    const std::string& source() const override { return settings_.connection.source; }
    const Executor& home() const override { return uses_.executor; }
    Task<Result<CallReply>> send(UpstreamCall call) override;
    void note_off_schema(const std::string& tool, std::string_view why) override;

    /// All of it, texts included: for operators. Thread-safe.
    UpstreamStatus status() const;
    UpstreamStatus::State state() const;  ///< thread-safe
    std::uint64_t off_schema() const;  ///< as in the status; thread-safe
    std::uint64_t dropped() const { return settings_.connection.dropped->load(); }  ///< likewise
    /// How it was reached, while it is up; thread-safe.
    std::optional<FoundEra> proven_era() const;
    std::vector<HeldBack> held() const;  ///< what is held back; thread-safe
    /// Accepts these, all or none, as they were seen; returns their keys. Errors: kNotFound for one
    /// that is not held back, kConflict for one that is another one by now, kUnavailable while the
    /// store cannot be read; those of the store.
    Task<Result<std::vector<std::string>>> accept(std::vector<SeenEntry> entries);
    /// Tries at once to reach one that is away: somebody has logged in.
    void try_again();
    /// Another process may have changed its pins.
    void read_pins_again();

private:
    enum class Ended : std::uint8_t { kLost, kIdle };

    void on_notification(std::string_view method, std::string_view params) override;
    void on_end(const Error& why) override;

    core::Inquirer::Answers declared() const;
    Task<bool> open();
    Task<Ended> serve();
    bool is_of_use() const { return session_->is_open() && !other_era_ && !is_silent_; }
    Task<void> close();
    Task<void> pause(Ended ended);
    Task<void> finish();
    Task<void> load_pins();
    Task<void> take_changed_pins();
    Task<Result<void>> refresh();
    Task<Result<RawLists>> read_raw(std::shared_ptr<UpstreamSession> session);
    std::shared_ptr<UpstreamSession> lister() const;
    void note_lister();
    Task<std::vector<HeldBack>> find_alike(std::shared_ptr<const ReadLists> lists);
    Task<void> compare_names();
    Task<void> publish();
    Task<void> remember(Pins::PinDecision& decision);
    void show(Offer offer);
    void note_lists(const Offer& offer);
    Result<trust::Pin> pin_of(const SeenEntry& seen) const;
    core::ToolSource tool_source() const;
    std::string last_error() const;

    Task<Result<void>> arrive(Deadline deadline);
    struct Attempt {
        core::CircuitBreaker::Pass pass;
        /// Its session has ended, and it has certainly not run or may run twice.
        bool is_gone = false;
    };
    Task<Result<CallReply>> send_once(UpstreamCall& call, Attempt& attempt);
    Task<Result<CallReply>> send_on(UpstreamSession& session, UpstreamCall& call,
                                    core::CircuitBreaker::Pass& pass);
    Task<Result<UpstreamReply>> send_again(UpstreamSession& session, UpstreamCall& call);
    bool needs_own_session(const std::string& principal, std::string_view login);
    std::string login_of(std::string_view principal) const;
    core::Inquirer::Answers told_answers(const core::Inquirer::Answers& answers) const;
    ParamHeaders headers() const;
    SteadyTime now() const { return uses_.clock.steady_now(); }
    template <class Change>
    void change_status(Change change) {
        const std::scoped_lock lock(status_mutex_);
        change(status_);
    }
    void set_state(UpstreamStatus::State state, std::string error = {});
    void wake_arrivals();
    void wake_live();

    const Uses uses_;
    const UpstreamSettings settings_;
    const ConnectionId owner_;
    const std::shared_ptr<core::ToolGate> gate_;
    core::CircuitBreaker breaker_;
    Pins pins_;
    SessionPool pool_;
    ChangeWatch changes_;
    IdlePing ping_;
    Waiter live_waiter_;  ///< of live()
    TaskChain* chain_ = nullptr;  ///< of live(), until it finishes

    std::shared_ptr<UpstreamSession> session_;  ///< the gateway's own; null while it is away
    std::weak_ptr<UpstreamSession> listed_by_;  ///< the session that was asked for lists last
    std::optional<FoundEra> found_;
    std::string user_;  ///< the principal whose calls run in `session_`, where it is one's only
    std::string digest_;  ///< of the lists as they came
    std::shared_ptr<const ReadLists> lists_;
    std::shared_ptr<const OfferedTools> offered_;
    std::vector<HeldBack> held_;
    std::vector<HeldBack> alike_;  ///< that looked like others, accepted ones included
    std::uint64_t publications_ = 0;
    std::optional<Milliseconds> ttl_;  ///< the shortest of its lists
    bool ending_ = false, listed_ = false, changed_ = false, needed_ = false;
    bool other_era_ = false;  ///< callers' sessions are of another era than `session_`
    bool is_silent_ = false;  ///< `session_` answers nothing
    std::uint64_t failures_ = 0;
    bool pins_changed_ = false;  ///< by another process, since they were read
    bool names_changed_ = false;  ///< of other sources, since they were compared
    SteadyTime opened_at_{}, looked_after_{}, last_call_{}, again_at_{}, compared_at_{};
    std::size_t calls_ = 0;
    std::list<Waiter*> arrivals_;  ///< calls that wait for the session
    std::string lost_;  ///< why the last session ended
    bool needs_login_ = false;  ///< and that a person can do something about it

    log::Budget off_schema_lines_{6};
    mutable std::mutex status_mutex_;
    UpstreamStatus status_;
    ChangeSignal::Watch watch_, names_watch_;
};

}  // namespace crab::mcp

#include "adapters/mcp/upstreams/upstream.hpp"

#include "adapters/mcp/client/upstream_question.hpp"
#include "adapters/mcp/upstreams/bounded_inquirer.hpp"
#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "base/doubling_delay.hpp"
#include "base/log.hpp"
#include "base/scope_exit.hpp"
#include "json/parser.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;
using State = UpstreamStatus::State;

constexpr DoublingDelay kBackoff{.first = 1s, .longest = 60s};
constexpr std::chrono::seconds kShortLife{1};
constexpr std::chrono::seconds kGoodLife{60};  // after which failures are forgotten
constexpr int kBreakerOpensAfter = 5;
constexpr DoublingDelay kBreakerPause{.first = 30s, .longest = 30s};
constexpr std::chrono::seconds kShortestTtl{30};
constexpr std::chrono::minutes kTtlUnlessSaid{5};
constexpr std::chrono::seconds kListsAtMostEvery{1};
constexpr std::chrono::seconds kNamesComparedEvery{10};
constexpr std::size_t kMostChildren = 32;
constexpr std::size_t kShownUpstreamError = 1024;

/// A child for each caller costs memory: one of a principal, and few of all.
SessionPool::Limits limits_of(const UpstreamSettings& settings) {
    SessionPool::Limits limits;
    limits.one_call_at_a_time = settings.connection.interactive;
    if (limits.one_call_at_a_time) limits.of_principal = limits.most_of_a_key;
    if (settings.connection.child) {
        limits.most = kMostChildren;
        if (!limits.one_call_at_a_time) limits.of_principal = 1;
    }
    return limits;
}

/// Of an upstream, perhaps: for operators and the log.
std::string shown(std::string_view text) {
    return std::string(cut_text(clean_text(text).text, kShownUpstreamError));
}

/// Whether an error says something about the server, not about this call.
bool is_trouble(const Error& error) {
    return (error.code == ErrorCode::kUnavailable && !error.retry_after) ||
           error.code == ErrorCode::kOutcomeUnknown;
}

/// `run` on the loop, once for any number of times that this is called meanwhile.
template <class Run>
std::function<void()> told_once(const Executor& home, Run run) {
    return [home, run, waiting = std::make_shared<std::atomic<bool>>(false)] {
        if (waiting->exchange(true)) return;
        asio::post(home, [run, waiting] {
            waiting->store(false);
            run();
        });
    };
}

/// With one counter for all of its sessions.
UpstreamSettings counted(UpstreamSettings settings) {
    settings.connection.dropped = std::make_shared<std::atomic<std::uint64_t>>(0);
    return settings;
}

}  // namespace

std::string_view name_of(UpstreamStatus::State state) {
    switch (state) {
        case State::kConnecting: return "connecting";
        case State::kUp: return "up";
        case State::kIdle: return "idle";
        case State::kDown: return "down";
        case State::kStopped: return "stopped";
    }
    return "";
}

Upstream::Upstream(const Uses& uses, UpstreamSettings settings, ConnectionId owner)
    : uses_(uses),
      settings_(counted(std::move(settings))),
      owner_(owner),
      gate_(std::make_shared<core::ToolGate>(static_cast<std::uint32_t>(settings_.at_once))),
      breaker_(kBreakerOpensAfter, kBreakerPause),
      pins_(source(), settings_.pin),
      pool_(uses.executor, uses.timers, uses.clock, limits_of(settings_),
            [this] {
                if (settings_.connection.interactive) changed_ = true;
                wake_live();
            }),
      changes_(uses.executor, uses.timers, uses.clock, source(), uses.watches),
      ping_(uses.executor, uses.timers, uses.clock),
      live_waiter_(uses.timers),
      found_(settings_.connection.known) {
    status_.source = source();
    uses_.registry.expect(tool_source());
}

// ---- Its life

Task<void> Upstream::live(std::shared_ptr<Upstream> upstream) {
    Upstream& self = *upstream;
    const std::weak_ptr<Upstream> weak = upstream;
    self.watch_ = self.uses_.watches.changes().watch(told_once(self.home(), [weak] {
        if (const auto alive = weak.lock()) alive->changes_.look_again();
    }));
    self.names_watch_ = self.uses_.registry.changes().watch(told_once(self.home(), [weak] {
        const auto alive = weak.lock();
        if (alive && !std::exchange(alive->names_changed_, true)) alive->live_waiter_.wake();
    }));
    TaskChain& chain = co_await this_chain();
    self.chain_ = &chain;
    const auto ending = [&] { return self.ending_ || chain.cancelled(); };
    co_await self.load_pins();
    while (!ending()) {
        Ended ended = Ended::kLost;
        if (co_await self.open()) ended = co_await self.serve();
        co_await self.close();
        if (!ending()) co_await self.pause(ended);
    }
    self.chain_ = nullptr;
    chain.forget_cancellation();
    co_await self.finish();
}

void Upstream::leave() {
    if (std::exchange(ending_, true)) return;
    uses_.registry.remove_owner(owner_);
    uses_.registry.settle(tool_source());
    uses_.catalogs.drop(source());
    wake_arrivals();
    if (chain_ != nullptr) chain_->cancel();  // whatever it waits for: a connection, a long list
}

core::ToolSource Upstream::tool_source() const {
    return {.kind = core::SourceKind::kMcpServer,
            .name = source(),
            .owner = "mcp/" + source(),
            .connection = owner_};
}

/// Some servers list tools by what their client can. Where callers have sessions of their own, none
/// of their calls runs on this one, so it says what any of them may be able to.
core::Inquirer::Answers Upstream::declared() const {
    if (settings_.shared_session) return {};
    return {.form = true,
            .url = true,
            .sampling = true,
            .sampling_tools = true,
            .sampling_context = true,
            .roots = true};
}

Task<bool> Upstream::open() {
    set_state(State::kConnecting);
    UpstreamOptions options = settings_.connection;
    options.known = found_;
    const auto last_words = std::make_shared<std::string>();
    options.last_words = last_words;
    auto session = co_await uses_.connector.connect(std::move(options), declared());
    if (!session) {
        ++failures_;
        needs_login_ = session.error().code == ErrorCode::kAuthRequired;
        change_status([&](UpstreamStatus& status) { status.error_tail = *last_words; });
        if (session.error().code != ErrorCode::kCancelled) {
            if (!needs_login_) breaker_.on_failure(now());
            if (failures_ == 1)
                log::warn("an MCP server cannot be reached",
                          {{"server", source()}, {"reason", shown(session.error().message)}});
            lost_ = session.error().message;
        }
        co_return false;
    }
    session_ = std::move(*session);
    needs_login_ = false;
    session_->set_listener(this);
    breaker_.on_success();
    other_era_ = is_silent_ = false;
    opened_at_ = last_call_ = now();
    found_ = session_->found();
    change_status([&](UpstreamStatus& status) {
        status.found = found_;
        status.server_info = session_->server_info();
    });
    set_state(State::kUp);
    log::info("an MCP server answers",
              {{"server", source()}, {"revision", name_of(session_->revision())}});
    changes_.start(session_);
    ping_.start(session_, settings_.connection.child.has_value(), [this] {
        is_silent_ = true;
        on_end({.code = ErrorCode::kUnavailable,
                .message = "it was silent for a while and answers no ping"});
    });
    wake_arrivals();
    co_return true;
}

Task<Upstream::Ended> Upstream::serve() {
    TaskChain& chain = co_await this_chain();
    changed_ = true;
    SteadyTime read_at = now() - kListsAtMostEvery;
    Deadline refresh_at = now();
    while (!ending_ && !chain.cancelled() && is_of_use()) {
        pool_.close_idle();
        note_lister();
        if (pins_changed_) {
            co_await take_changed_pins();
            continue;
        }
        if (changed_) refresh_at = std::min<Deadline>(refresh_at, read_at + kListsAtMostEvery);
        if (refresh_at <= now()) {
            changed_ = false;
            read_at = now();
            const auto refreshed = co_await refresh();
            if (ending_ || chain.cancelled()) break;
            if (!refreshed) {
                const std::string why = shown(refreshed.error().message);
                log::warn("the lists of an MCP server cannot be read",
                          {{"server", source()}, {"reason", why}});
                change_status([&](auto& status) { status.last_error = why; });
            }
            const auto every = refreshed
                                   ? ttl_ ? std::max<std::chrono::nanoseconds>(*ttl_, kShortestTtl)
                                          : std::chrono::nanoseconds(kTtlUnlessSaid)
                                   : std::chrono::nanoseconds(kShortestTtl);
            refresh_at = now() + every;
            continue;
        }
        const Deadline compare_at =
            names_changed_ ? compared_at_ + kNamesComparedEvery : kNoDeadline;
        if (compare_at <= now()) {
            co_await compare_names();
            continue;
        }
        change_status([&](UpstreamStatus& status) { status.sessions = pool_.size(); });
        const bool may_idle = settings_.idle_stop.count() > 0 && !settings_.eager && calls_ == 0;
        const Deadline idle_at = may_idle ? last_call_ + settings_.idle_stop : kNoDeadline;
        if (idle_at <= now()) co_return Ended::kIdle;
        co_await live_waiter_.wait(std::min({refresh_at, idle_at, compare_at}));
    }
    ++failures_;
    co_return Ended::kLost;
}

Task<void> Upstream::close() {
    const auto session = std::exchange(session_, nullptr);
    if (!session) co_return;
    user_.clear();
    if (now() - opened_at_ >= kGoodLife) failures_ = std::min<std::uint64_t>(failures_, 1);
    co_await changes_.stop();
    co_await ping_.stop();
    session->set_listener(nullptr);
    co_await session->close();
    change_status([&](UpstreamStatus& status) { status.error_tail = session->error_tail(); });
}

Task<void> Upstream::pause(Ended ended) {
    if (ended == Ended::kIdle) {
        failures_ = 0;
        set_state(State::kIdle);
        needed_ = false;
        while (!needed_ && !ending_) {
            if (co_await live_waiter_.wait(kNoDeadline) == WaitEnd::kCancelled) co_return;
        }
        co_return;
    }
    // A server that is reached over the network and was there is looked for again at once.
    const bool was_there =
        std::exchange(looked_after_, opened_at_) < opened_at_ && now() - opened_at_ >= kShortLife;
    if (was_there && !settings_.connection.child) co_return;
    set_state(State::kDown, std::exchange(lost_, {}));
    wake_arrivals();
    again_at_ = now() + kBackoff.after(failures_);
    while (!ending_ && now() < again_at_) {
        if (co_await live_waiter_.wait(again_at_) == WaitEnd::kCancelled) co_return;
    }
}

/// Sessions are closed by now, so calls come to their ends.
Task<void> Upstream::finish() {
    ending_ = true;
    watch_ = {};
    names_watch_ = {};
    wake_arrivals();
    co_await pool_.close_all();
    while (calls_ > 0) co_await live_waiter_.wait(kNoDeadline);
    co_await pool_.close_all();  // what a call was opening meanwhile
    set_state(State::kStopped);
}

void Upstream::try_again() {
    failures_ = 0;
    again_at_ = {};
    wake_live();
}

void Upstream::read_pins_again() {
    pins_changed_ = true;
    wake_live();
}

void Upstream::on_notification(std::string_view method, std::string_view params) {
    if (method.ends_with("/list_changed")) {
        changed_ = true;
        wake_live();
    } else if (method == "notifications/resources/updated") {
        if (const auto uri = json::find_raw_string(params, "uri")) changes_.updated(*uri);
    }
}

void Upstream::on_end(const Error& why) {
    lost_ = why.message;
    log::warn("an MCP server is away", {{"server", source()}, {"reason", shown(why.message)}});
    wake_live();
}

// ---- Its calls

/// Whose login a call uses: those of this machine's user share the gateway's.
std::string Upstream::login_of(std::string_view principal) const {
    const bool own = !principal.starts_with("local/") && settings_.has_logins;
    return own && settings_.has_logins() ? std::string(principal) : std::string();
}

/// Whether the calls of a principal need another session than the gateway's. That of a child, or of
/// the oldest transport, which nobody is asked through, is the first caller's: on a machine with
/// one user one child is enough.
bool Upstream::needs_own_session(const std::string& principal, std::string_view login) {
    if (!login.empty()) return true;
    const UpstreamOptions& connection = settings_.connection;
    // the questions of modern ones are in their results
    if (!found_ || found_->form == FoundEra::Form::kModern) return false;
    const bool is_single = connection.child || found_->form == FoundEra::Form::kSse;
    if (is_single && connection.interactive) return true;
    if (settings_.shared_session) return false;
    if (!is_single) return true;
    if (user_.empty()) user_ = principal;
    return user_ != principal;
}

/// What the server is told that a caller can answer.
core::Inquirer::Answers Upstream::told_answers(const core::Inquirer::Answers& answers) const {
    const bool is_single =
        settings_.connection.child || (found_ && found_->form == FoundEra::Form::kSse);
    return is_single && !settings_.connection.interactive ? core::Inquirer::Answers{} : answers;
}

ParamHeaders Upstream::headers() const {
    return settings_.connection.child ? ParamHeaders::kNone : ParamHeaders::kSent;
}

Task<Result<void>> Upstream::arrive(Deadline deadline) {
    while (!session_ || !session_->is_open()) {
        if (ending_)
            co_return fail(ErrorCode::kUnavailable,
                           fmt::format("the MCP server {} is being stopped", source()));
        // why is for the operator: it may hold what the server wrote
        const auto away = [&]() -> std::unexpected<Error> {
            if (needs_login_) return fail(ErrorCode::kAuthRequired, last_error());
            return fail(Error{.code = ErrorCode::kUnavailable,
                              .message = fmt::format("the MCP server {} is away; the call was not "
                                                     "started (`crab mcp status` says why)",
                                                     source())});
        };
        if (state() == State::kDown) co_return away();
        needed_ = true;
        wake_live();
        Waiter waiter(uses_.timers);
        const auto place = arrivals_.insert(arrivals_.end(), &waiter);
        const WaitEnd end = co_await waiter.wait(deadline);
        if (end != WaitEnd::kWoken) arrivals_.erase(place);
        if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "cancelled");
        if (end == WaitEnd::kExpired) co_return away();
    }
    co_return Result<void>();
}

Task<Result<CallReply>> Upstream::send(UpstreamCall call) {
    const auto self = shared_from_this();
    change_status([&](UpstreamStatus& status) { status.calls = ++calls_; });
    const ScopeExit done([this] {
        change_status([&](UpstreamStatus& status) { status.calls = --calls_; });
        last_call_ = now();
        const bool may_idle = settings_.idle_stop.count() > 0 && !settings_.eager;
        if (calls_ == 0 && (ending_ || may_idle))
            wake_live();  // nobody else waits for ends of calls
    });
    auto pass = breaker_.admit(now());
    if (!pass)
        co_return fail(ErrorCode::kUnavailable,
                       fmt::format("the MCP server {} fails again and again; the call was not "
                                   "started, call again later",
                                   source()));
    Attempt attempt{.pass = std::move(*pass)};
    auto reply = co_await send_once(call, attempt);
    // forgotten by the server, which then has not run it: once more, on a new session
    if (attempt.is_gone) reply = co_await send_once(call, attempt);
    co_return reply;
}

Task<Result<CallReply>> Upstream::send_once(UpstreamCall& call, Attempt& attempt) {
    const Deadline deadline = call.request.deadline;
    const auto note = [&attempt](const Result<CallReply>& reply, const UpstreamSession& session) {
        attempt.is_gone =
            !reply && reply.error().code == ErrorCode::kUnavailable && !session.is_open();
    };
    attempt.is_gone = false;
    auto arrived = co_await arrive(deadline);
    if (!arrived) co_return fail(std::move(arrived.error()));
    const std::string login = login_of(call.principal);
    if (!needs_own_session(call.principal, login)) {
        const auto session = session_;
        auto reply = co_await send_on(*session, call, attempt.pass);
        note(reply, *session);
        co_return reply;
    }
    SessionPool::Opening opening{.connector = uses_.connector,
                                 .options = settings_.connection,
                                 .answers = told_answers(call.answers)};
    opening.options.known = found_;
    opening.options.owner = login;
    SessionKey key{.principal = call.principal,
                   .declared = upstream_capabilities(client_capabilities(opening.answers),
                                                     settings_.connection.ask, found_->revision),
                   .login = login};
    auto lease = co_await pool_.get(std::move(opening), std::move(key), deadline);
    if (!lease) {
        if (is_trouble(lease.error())) attempt.pass.failed(now());
        co_return fail(std::move(lease.error()));
    }
    change_status([&](UpstreamStatus& status) { status.sessions = pool_.size(); });
    note_lister();
    if (session_ && session_->era() != lease->session().era()) {
        other_era_ = true;  // the lists are those of a server that is no longer there
        wake_live();
    }
    auto reply = co_await send_on(lease->session(), call, attempt.pass);
    note(reply, lease->session());
    co_return reply;
}

Task<Result<CallReply>> Upstream::send_on(UpstreamSession& session, UpstreamCall& call,
                                          core::CircuitBreaker::Pass& pass) {
    if (call.spoken != nullptr) *call.spoken = session.revision();
    if (headers() == ParamHeaders::kSent && lists_ && !call.arguments.empty()) {
        const auto& tools = lists_->tools.tools;
        const auto tool = std::ranges::find(tools, call.request.name, [](const ReadTool& each) {
            return std::string_view(each.facts.name);
        });
        if (tool != tools.end() && !tool->facts.params.empty()) {
            json::Parser parser;
            const auto arguments = parser.parse(call.arguments);
            if (arguments)
                call.request.param_headers =
                    make_param_headers(tool->facts.params, arguments->element());
        }
    }
    core::Inquirer* const person = call.request.inquirer;
    const ScopeExit back([&] { call.request.inquirer = person; });  // it may be sent once more
    std::optional<BoundedInquirer> inquirer;
    if (person != nullptr) {
        inquirer.emplace(*person, uses_.schemas, source());
        call.request.inquirer = &*inquirer;
    }
    UpstreamRequest first = call.request;
    Result<UpstreamReply> reply = co_await session.request(std::move(first));
    if (reply && !*reply && reply->error().code == rpc_code::kHeaderMismatch &&
        call.request.method == "tools/call")
        reply = co_await send_again(session, call);
    if (!reply) {
        if (is_trouble(reply.error())) pass.failed(now());
        co_return fail(std::move(reply.error()));
    }
    pass.succeeded();
    co_return CallReply{.reply = std::move(*reply), .era = session.era()};
}

/// Nothing has run: the list that the headers were made from is old.
Task<Result<UpstreamReply>> Upstream::send_again(UpstreamSession& session, UpstreamCall& call) {
    changed_ = true;
    wake_live();
    ListBudget budget;
    auto list = co_await read_list(session, kToolList, call.request.deadline, budget);
    if (!list) co_return fail(std::move(list.error()));
    call.request.param_headers.clear();
    json::Parser schemas, parser;
    for (const std::string& entry : list->entries) {
        if (json::find_raw_string(entry, "name") != call.request.name) continue;
        const auto schema = schemas.parse(json::find_raw(entry, "inputSchema").value_or("{}"));
        const auto arguments = parser.parse(call.arguments);
        const auto params = schema ? read_header_params(schema->element())
                                   : std::expected<std::vector<HeaderParam>, std::string>();
        if (params && arguments)
            call.request.param_headers = make_param_headers(*params, arguments->element());
    }
    co_return co_await session.request(call.request);
}

// ---- What is seen of it

/// The log has a few of them, the status counts all.
void Upstream::note_off_schema(const std::string& tool, std::string_view why) {
    change_status([&](UpstreamStatus& status) {
        ++status.off_schema;
        status.off_schema_tool = shown(tool);
    });
    const auto left_out = off_schema_lines_.take(now());
    if (!left_out) return;
    log::warn("a result of an MCP server breaks its tool's output schema and is passed on",
              {{"server", source()},
               {"tool", shown(tool)},
               {"reason", shown(why)},
               {"left_out_before", *left_out}});
}

void Upstream::set_state(State state, std::string error) {
    change_status([&](UpstreamStatus& status) {
        status.state = state;
        if (!error.empty()) status.last_error = shown(error);
    });
}

/// Later, for live() must not go on inside a listener's function.
void Upstream::wake_live() {
    asio::post(home(), [weak = weak_from_this()] {
        if (const auto alive = weak.lock()) alive->live_waiter_.wake();
    });
}

void Upstream::wake_arrivals() {
    while (!arrivals_.empty()) {  // each goes on before wake() returns
        Waiter* const waiter = arrivals_.front();
        arrivals_.pop_front();
        waiter->wake();
    }
}

std::string Upstream::last_error() const {
    const std::scoped_lock lock(status_mutex_);
    return status_.last_error;
}

State Upstream::state() const {
    const std::scoped_lock lock(status_mutex_);
    return status_.state;
}

std::uint64_t Upstream::off_schema() const {
    const std::scoped_lock lock(status_mutex_);
    return status_.off_schema;
}

std::optional<FoundEra> Upstream::proven_era() const {
    const std::scoped_lock lock(status_mutex_);
    return status_.state == State::kUp ? status_.found : std::nullopt;
}

UpstreamStatus Upstream::status() const {
    const std::scoped_lock lock(status_mutex_);
    UpstreamStatus status = status_;
    status.dropped = dropped();
    return status;
}

}  // namespace crab::mcp

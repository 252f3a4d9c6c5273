#include "adapters/mcp/upstreams/upstream.hpp"

#include "adapters/mcp/wire/capabilities.hpp"
#include "base/doubling_delay.hpp"
#include "base/log.hpp"
#include "base/scope_exit.hpp"
#include "core/policy/policy.hpp"
#include "json/parser.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <chrono>

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
constexpr std::chrono::seconds kListsWithin{60};
constexpr int kMostWaits = 3;  // for a server that is busy and says for how long, per list
constexpr std::chrono::seconds kShortestTtl{30};
constexpr std::chrono::minutes kTtlUnlessSaid{5};
constexpr std::chrono::seconds kListsAtMostEvery{1};

core::ToolSource source_of(const std::string& name, ConnectionId owner) {
    return {.kind = core::SourceKind::kMcpServer,
            .name = name,
            .owner = "mcp/" + name,
            .connection = owner};
}

SessionPool::Limits limits_of(const UpstreamSettings& settings) {
    SessionPool::Limits limits;
    limits.one_call_at_a_time = settings.connection.interactive;
    return limits;
}

/// Whether an error says something about the server, not about this call.
bool is_trouble(const Error& error) {
    return (error.code == ErrorCode::kUnavailable && !error.retry_after) ||
           error.code == ErrorCode::kOutcomeUnknown;
}

void append(RawLists& raw, std::vector<std::string>& list, ListReading reading,
            std::optional<Milliseconds>& ttl) {
    list = std::move(reading.entries);
    raw.beyond += reading.beyond;
    if (reading.ttl) ttl = std::min(ttl.value_or(*reading.ttl), *reading.ttl);
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
      settings_(std::move(settings)),
      owner_(owner),
      gate_(std::make_shared<core::ToolGate>(static_cast<std::uint32_t>(settings_.at_once))),
      breaker_(kBreakerOpensAfter, kBreakerPause),
      pins_(source(), settings_.pin),
      pool_(uses.executor, uses.timers, uses.clock, limits_of(settings_)),
      changes_(uses.executor, uses.timers, uses.clock, source(), uses.watches),
      bell_(uses.timers),
      found_(settings_.connection.known) {
    status_.source = source();
    uses_.registry.expect(source_of(source(), owner_));
}

// ---- Its life

Task<void> Upstream::live(std::shared_ptr<Upstream> upstream) {
    Upstream& self = *upstream;
    const std::weak_ptr<Upstream> weak = upstream;
    self.watch_ = self.uses_.watches.changes().watch([weak, home = self.home()] {
        asio::post(home, [weak] {
            if (const auto alive = weak.lock()) alive->changes_.look_again();
        });
    });
    TaskChain& chain = co_await this_chain();
    const auto ending = [&] { return self.ending_ || chain.cancelled(); };
    co_await self.load_pins();
    while (!ending()) {
        Ended ended = Ended::kLost;
        if (co_await self.open()) ended = co_await self.serve();
        co_await self.close();
        if (!ending()) co_await self.pause(ended);
    }
    chain.forget_cancellation();
    co_await self.finish();
}

void Upstream::leave() {
    if (std::exchange(ending_, true)) return;
    uses_.registry.remove_owner(owner_);
    uses_.registry.settle(source_of(source(), owner_));
    uses_.catalogs.drop(source());
    wake_arrivals();
    ring();
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
    auto session = co_await uses_.connector.connect(std::move(options), declared());
    if (!session) {
        ++failures_;
        needs_login_ = session.error().code == ErrorCode::kAuthRequired;
        if (session.error().code != ErrorCode::kCancelled) {
            if (!needs_login_) breaker_.on_failure(now());
            if (failures_ == 1)
                log::warn("an MCP server cannot be reached",
                          {{"server", source()}, {"reason", session.error().message}});
            lost_ = session.error().message;
        }
        co_return false;
    }
    session_ = std::move(*session);
    needs_login_ = false;
    session_->set_listener(this);
    breaker_.on_success();
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
    wake_arrivals();
    co_return true;
}

Task<Upstream::Ended> Upstream::serve() {
    TaskChain& chain = co_await this_chain();
    changed_ = true;
    SteadyTime read_at = now() - kListsAtMostEvery;
    Deadline refresh_at = now();
    while (!ending_ && !chain.cancelled() && session_->is_open()) {
        if (changed_) refresh_at = std::min<Deadline>(refresh_at, read_at + kListsAtMostEvery);
        if (refresh_at <= now()) {
            changed_ = false;
            read_at = now();
            const auto refreshed = co_await refresh();
            if (ending_ || chain.cancelled()) break;
            if (!refreshed) {
                log::warn("the lists of an MCP server cannot be read",
                          {{"server", source()}, {"reason", refreshed.error().message}});
                change_status([&](auto& status) { status.last_error = refreshed.error().message; });
            }
            const auto every = refreshed
                                   ? ttl_ ? std::max<std::chrono::nanoseconds>(*ttl_, kShortestTtl)
                                          : std::chrono::nanoseconds(kTtlUnlessSaid)
                                   : std::chrono::nanoseconds(kShortestTtl);
            refresh_at = now() + every;
            continue;
        }
        pool_.close_idle();
        change_status([&](UpstreamStatus& status) { status.sessions = pool_.size(); });
        const bool may_idle = settings_.idle_stop.count() > 0 && !settings_.eager && calls_ == 0;
        const Deadline idle_at = may_idle ? last_call_ + settings_.idle_stop : kNoDeadline;
        if (idle_at <= now()) co_return Ended::kIdle;
        co_await bell_.wait(std::min(refresh_at, idle_at));
    }
    ++failures_;
    co_return Ended::kLost;
}

Task<void> Upstream::close() {
    const auto session = std::exchange(session_, nullptr);
    if (!session) co_return;
    if (now() - opened_at_ >= kGoodLife) failures_ = std::min<std::uint64_t>(failures_, 1);
    co_await changes_.stop();
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
            if (co_await bell_.wait(kNoDeadline) == WaitEnd::kCancelled) co_return;
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
        if (co_await bell_.wait(again_at_) == WaitEnd::kCancelled) co_return;
    }
}

/// Sessions are closed by now, so calls come to their ends.
Task<void> Upstream::finish() {
    ending_ = true;
    watch_ = {};
    wake_arrivals();
    co_await pool_.close_all();
    while (calls_ > 0) co_await bell_.wait(kNoDeadline);
    co_await pool_.close_all();  // what a call was opening meanwhile
    set_state(State::kStopped);
}

void Upstream::try_again() {
    failures_ = 0;
    again_at_ = {};
    ring();
}

void Upstream::on_notification(std::string_view method, std::string_view params) {
    if (method.ends_with("/list_changed")) {
        changed_ = true;
        ring();
    } else if (method == "notifications/resources/updated") {
        if (const auto uri = json::find_raw_string(params, "uri"))
            uses_.watches.updated(source(), *uri);
    }
}

void Upstream::on_end(const Error& why) {
    lost_ = why.message;
    log::warn("an MCP server is away", {{"server", source()}, {"reason", why.message}});
    ring();
}

// ---- Its lists

Task<void> Upstream::load_pins() {
    if (pins_.mode() == PinMode::kOff) co_return;
    auto stored = co_await uses_.files.run(
        [&store = uses_.pins, name = source()] { return store.load(name); });
    if (!stored)
        log::error("the pins of an MCP server cannot be read: all of it is held back",
                   {{"server", source()}, {"reason", stored.error().message}});
    pins_.know(std::move(stored));
}

Task<Result<RawLists>> Upstream::read_raw(std::shared_ptr<UpstreamSession> session) {
    const Deadline deadline = now() + kListsWithin;
    const std::string& has = session->server_capabilities();
    RawLists raw;
    std::optional<Milliseconds> ttl;
    const auto read = [&](const ListKind& kind,
                          std::vector<std::string>& list) -> Task<Result<void>> {
        auto reading = co_await read_list(*session, kind, deadline);
        for (int wait = 0; wait < kMostWaits && !reading && reading.error().retry_after; ++wait) {
            Waiter pause(uses_.timers);
            const Deadline then = now() + *reading.error().retry_after;
            if (then >= deadline || co_await pause.wait(then) != WaitEnd::kExpired) break;
            reading = co_await read_list(*session, kind, deadline);
        }
        if (!reading) co_return fail(std::move(reading.error()));
        append(raw, list, std::move(*reading), ttl);
        co_return Result<void>();
    };
    // some servers offer tools and do not say so
    auto done = co_await read(kToolList, raw.tools);
    if (done && has_capability(has, "resources"))
        done = co_await read(kResourceList, raw.resources);
    if (done && has_capability(has, "resources"))
        done = co_await read(kTemplateList, raw.templates);
    if (done && has_capability(has, "prompts")) done = co_await read(kPromptList, raw.prompts);
    if (!done) co_return fail(std::move(done.error()));
    raw.instructions = session->instructions();
    ttl_ = ttl;
    co_return raw;
}

Task<Result<void>> Upstream::refresh() {
    auto raw = co_await read_raw(session_);
    if (!raw) co_return fail(std::move(raw.error()));
    change_status([&](UpstreamStatus& status) { status.last_error.clear(); });
    if (listed_ && raw_ == *raw && (pins_.mode() == PinMode::kOff || pins_.readable()))
        co_return Result<void>();
    const auto shared = std::make_shared<const RawLists>(std::move(*raw));
    lists_ = co_await uses_.schemas.run(
        "mcp/" + source(), [shared, rules = settings_.tools, headers = headers()] {
            return std::make_shared<const ReadLists>(read_lists(*shared, rules, headers));
        });
    raw_ = *shared;
    co_await publish();
    co_return Result<void>();
}

Task<void> Upstream::publish() {
    if (pins_.mode() != PinMode::kOff && !pins_.readable()) co_await load_pins();
    const auto lists = lists_;
    const std::vector<PinnedText> entries = lists->pinned();
    Pins::Judgement judgement = pins_.judge(entries);
    if (!judgement.first_seen.empty()) {
        const auto stored = co_await uses_.files.run(
            [&store = uses_.pins, pins = judgement.first_seen] { return store.put(pins); });
        if (stored) {
            pins_.accept(judgement.first_seen);
        } else {
            // what cannot be remembered could change unseen
            for (trust::Pin& pin : judgement.first_seen)
                judgement.held.push_back({.kind = pin.kind,
                                          .key = pin.key,
                                          .why = HeldBack::Why::kUnreadable,
                                          .was = {},
                                          .now = pin.text});
        }
    }
    if (ending_ || lists != lists_) co_return;
    for (HeldBack& each : find_look_alikes(*lists, names_elsewhere(), pins_))
        judgement.held.push_back(std::move(each));
    OfferTerms terms{.source = source_of(source(), owner_),
                     .calls = shared_from_this(),
                     .gate = gate_,
                     .is_reserved = [&registry = uses_.registry](std::string_view name) {
                         return registry.is_reserved(name);
                     }};
    Offer offer = make_offer(*lists, judgement.held, terms);
    if (session_) {
        const std::string& has = session_->server_capabilities();
        offer.catalog->completions = has_capability(has, "completions");
        const auto extensions = json::find_raw(has, "extensions").value_or("{}");
        offer.catalog->ui = json::find_raw(extensions, kUiExtension).has_value();
    } else if (const auto all = uses_.catalogs.get(); all->contains(source())) {
        offer.catalog->completions = all->find(source())->second->completions;
        offer.catalog->ui = all->find(source())->second->ui;
    }
    if (!settings_.pass_instructions) offer.catalog->instructions.clear();
    uses_.registry.replace(owner_, offer.tools);
    uses_.registry.settle(source_of(source(), owner_));
    uses_.catalogs.set(source(), offer.catalog);
    listed_ = true;
    held_ = std::move(judgement.held);
    note_lists(offer, held_);
}

void Upstream::note_lists(const Offer& offer, const std::vector<HeldBack>& held) {
    const std::vector<LeftOut> left_out = lists_->left_out();
    for (const LeftOut& each : left_out)
        log::warn("an entry of an MCP server is left out",
                  {{"server", source()}, {"name", each.name}, {"reason", each.reason}});
    for (const HeldBack& each : held)
        log::warn("an entry of an MCP server is held back",
                  {{"server", source()}, {each.kind, each.key}, {"why", name_of(each.why)}});
    log::info("lists of an MCP server", {{"server", source()}, {"tools", offer.usable}});
    change_status([&](UpstreamStatus& status) {
        status.is_listed = true;
        status.tools = offer.usable;
        status.resources = offer.catalog->resources.size();
        status.templates = offer.catalog->templates.size();
        status.prompts = offer.catalog->prompts.size();
        status.removed = lists_->tools.removed;
        status.left_out = left_out;
        status.held = held;
    });
}

LookAlikes Upstream::names_elsewhere() const {
    static const auto kEverything = core::Policy::make({}).value();
    core::Principal anyone;
    anyone.roles = {core::Role::kCaller};
    LookAlikes names;
    const core::View view{.principal = &anyone, .policy = kEverything.get()};
    for (const auto& listed : uses_.registry.snapshot()->list(view)) {
        if (listed.tool->source.name != source() ||
            listed.tool->source.kind != core::SourceKind::kMcpServer)
            names.add(listed.tool->spec.name);
    }
    return names;
}

Task<Result<std::vector<std::string>>> Upstream::accept(std::vector<std::string> keys) {
    std::vector<trust::Pin> pins;
    std::vector<std::string> accepted;
    for (const HeldBack& each : held_) {
        if (!keys.empty() && std::ranges::find(keys, each.key) == keys.end()) continue;
        if (each.why == HeldBack::Why::kUnreadable)
            co_return fail(ErrorCode::kUnavailable, "the store of pins cannot be read");
        const bool name = each.why == HeldBack::Why::kLooksAlike;
        pins.push_back(pins_.pin_of({.kind = name ? std::string(kNamePin) : each.kind,
                                     .key = each.key,
                                     .text = name ? each.was : each.now}));
        accepted.push_back(each.key);
    }
    for (const std::string& key : keys) {
        if (std::ranges::find(accepted, key) == accepted.end())
            co_return fail(ErrorCode::kNotFound,
                           fmt::format("{} of {} is not held back", key, source()));
    }
    if (pins.empty()) co_return accepted;
    auto stored =
        co_await uses_.files.run([&store = uses_.pins, &pins] { return store.put(pins); });
    if (!stored) co_return fail(std::move(stored.error()));
    pins_.accept(pins);
    if (!ending_ && lists_) co_await publish();
    co_return accepted;
}

// ---- Its calls

/// Whose login a call uses: those of this machine's user share the gateway's.
std::string Upstream::login_of(std::string_view principal) const {
    const bool own = !principal.starts_with("local/") && settings_.has_logins;
    return own && settings_.has_logins() ? std::string(principal) : std::string();
}

bool Upstream::needs_own_session(std::string_view login) const {
    if (!login.empty()) return true;
    const UpstreamOptions& connection = settings_.connection;
    // the questions of modern ones are in their results
    if (!found_ || found_->form == FoundEra::Form::kModern) return false;
    if (connection.child || found_->form == FoundEra::Form::kSse) return connection.interactive;
    return !settings_.shared_session;
}

ParamHeaders Upstream::headers() const {
    return settings_.connection.child ? ParamHeaders::kNone : ParamHeaders::kSent;
}

Task<Result<void>> Upstream::arrive(Deadline deadline) {
    while (!session_ || !session_->is_open()) {
        if (ending_)
            co_return fail(ErrorCode::kUnavailable,
                           fmt::format("the MCP server {} is being stopped", source()));
        const auto away = [&]() -> std::unexpected<Error> {
            const UpstreamStatus known = status();
            if (needs_login_) return fail(ErrorCode::kAuthRequired, known.last_error);
            return fail(Error{.code = ErrorCode::kUnavailable,
                              .message = fmt::format("the MCP server {} is away; the call was not "
                                                     "started: {}",
                                                     source(), known.last_error)});
        };
        if (status().state == State::kDown) co_return away();
        needed_ = true;
        ring();
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
        if (calls_ == 0 && (ending_ || may_idle)) ring();  // nobody else waits for ends of calls
    });
    if (!breaker_.admits(now()))
        co_return fail(ErrorCode::kUnavailable,
                       fmt::format("the MCP server {} fails again and again; the call was not "
                                   "started, call again later",
                                   source()));
    bool is_gone = false;
    auto reply = co_await send_once(call, is_gone);
    // forgotten by the server, which then has not run it: once more, on a new session
    if (is_gone) reply = co_await send_once(call, is_gone);
    co_return reply;
}

/// `is_gone`: its session has ended, and it has certainly not run or may run twice.
Task<Result<CallReply>> Upstream::send_once(UpstreamCall& call, bool& is_gone) {
    const Deadline deadline = call.request.deadline;
    const auto note = [&is_gone](const Result<CallReply>& reply, const UpstreamSession& session) {
        is_gone = !reply && reply.error().code == ErrorCode::kUnavailable && !session.is_open();
    };
    is_gone = false;
    auto arrived = co_await arrive(deadline);
    if (!arrived) co_return fail(std::move(arrived.error()));
    const std::string login = login_of(call.principal);
    if (!needs_own_session(login)) {
        const auto session = session_;
        auto reply = co_await send_on(*session, call);
        note(reply, *session);
        co_return reply;
    }
    UpstreamOptions options = settings_.connection;
    options.known = found_;
    options.owner = login;
    SessionKey key{.principal = call.principal, .answers = call.answers, .login = login};
    auto lease = co_await pool_.get(uses_.connector, std::move(options), std::move(key), deadline);
    if (!lease) {
        if (is_trouble(lease.error())) breaker_.on_failure(now());
        co_return fail(std::move(lease.error()));
    }
    change_status([&](UpstreamStatus& status) { status.sessions = pool_.size(); });
    auto reply = co_await send_on(lease->session(), call);
    note(reply, lease->session());
    co_return reply;
}

Task<Result<CallReply>> Upstream::send_on(UpstreamSession& session, UpstreamCall& call) {
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
    UpstreamRequest first = call.request;
    Result<UpstreamReply> reply = co_await session.request(std::move(first));
    if (reply && !*reply && reply->error().code == rpc_code::kHeaderMismatch &&
        call.request.method == "tools/call")
        reply = co_await send_again(session, call);
    if (!reply) {
        if (is_trouble(reply.error())) breaker_.on_failure(now());
        co_return fail(std::move(reply.error()));
    }
    breaker_.on_success();
    co_return CallReply{.reply = std::move(*reply), .era = session.era()};
}

/// Nothing has run: the list that the headers were made from is old.
Task<Result<UpstreamReply>> Upstream::send_again(UpstreamSession& session, UpstreamCall& call) {
    changed_ = true;
    ring();
    auto list = co_await read_list(session, kToolList, call.request.deadline);
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

void Upstream::set_state(State state, std::string error) {
    change_status([&](UpstreamStatus& status) {
        status.state = state;
        if (!error.empty()) status.last_error = std::move(error);
    });
}

/// Later, for live() must not go on inside a listener's function.
void Upstream::ring() {
    asio::post(home(), [weak = weak_from_this()] {
        if (const auto alive = weak.lock()) alive->bell_.wake();
    });
}

void Upstream::wake_arrivals() {
    while (!arrivals_.empty()) {  // each goes on before wake() returns
        Waiter* const waiter = arrivals_.front();
        arrivals_.pop_front();
        waiter->wake();
    }
}

UpstreamStatus Upstream::status() const {
    const std::scoped_lock lock(status_mutex_);
    return status_;
}

}  // namespace crab::mcp

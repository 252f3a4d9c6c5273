#include "adapters/mcp/server/askable_calls.hpp"

#include "adapters/mcp/server/askable_owned.hpp"
#include "adapters/mcp/server/call_answer.hpp"
#include "adapters/mcp/server/call_sink.hpp"
#include "adapters/mcp/server/client_approver.hpp"
#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "base/encoding.hpp"
#include "base/scope_exit.hpp"
#include "base/task/gather.hpp"
#include "crypto/digest.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

core::Inquirer::Answers answers_of_client(const ClientRequest& request) {
    return answers_of(read_client_capabilities(request.meta.capabilities), request.revision);
}

/// What a state is good for: this principal's repeat of this very request.
std::string bound_to(const ClientRequest& request) {
    const std::string_view member = request.method == "resources/read" ? "uri" : "name";
    std::string arguments;
    json::append_compact(arguments, json::find_raw(request.params, "arguments").value_or("{}"));
    return fmt::format("{}\n{}\n{}\n{}\n{}", request.principal->id,
                       request.principal->tenant.text(), request.method,
                       json::find_raw_string(request.params, member).value_or(""),
                       crypto::sha256_hex(arguments));
}

/// The sink of a call that may be a task: that it takes long, and what it is doing.
class ParkedSink final : public CallSink {
public:
    ParkedSink(const ClientRequest& request, ParkedCall& parked, const Clock& clock)
        : CallSink(
              request, [&parked](const std::string& message) { return parked.notify(message); },
              clock),
          parked_(parked),
          takes_tasks_(takes_tasks(request)) {}

    bool wants_progress() const override { return takes_tasks_ || CallSink::wants_progress(); }
    void on_progress(const core::Progress& progress) override {
        CallSink::on_progress(progress);
        if (takes_tasks_ && !progress.message.empty()) parked_.say(progress.message);
    }

private:
    ParkedCall& parked_;
    const bool takes_tasks_;
};

constexpr int kMostUrlRounds = 4;

Task<bool> all_accepted(ParkedCall& parked, const std::vector<core::Question>& questions) {
    std::vector<Task<Result<std::string>>> asked;
    for (const core::Question& question : questions) asked.push_back(parked.ask(question));
    const auto answers = co_await gather(std::move(asked));
    co_return std::ranges::all_of(answers, [](const Result<std::string>& answer) {
        return answer && json::find_raw_string(*answer, "action") == "accept";
    });
}

struct State {
    std::string key;
    unsigned round = 0;
};

State read_state(std::string_view text) {
    const std::size_t space = text.find(' ');
    State state{.key = std::string(text.substr(0, space))};
    if (space != std::string_view::npos)
        std::from_chars(text.data() + space + 1, text.data() + text.size(), state.round);
    return state;
}

}  // namespace

bool AskableCalls::can_be_asked(const ClientRequest& request) {
    if (!request.modern() || request.method == "completion/complete") return false;
    const ClientCapabilities has = read_client_capabilities(request.meta.capabilities);
    return (has.tasks_extension && request.method == "tools/call") ||
           can_answer_any(answers_of(has, request.revision));
}

std::shared_ptr<ParkedCall> AskableCalls::make_parked(const std::shared_ptr<Owned>& owned,
                                                      const std::string& call_id) {
    const ClientRequest& request = owned->request;
    owned->call_id = call_id;
    ParkedCall::Facts facts{.key = state_.new_key(),
                            .principal = request.principal->id,
                            .credential = request.principal->credential_id,
                            .revision = request.revision,
                            .answers = answers_of_client(request),
                            .patience = state_.options.input_wait,
                            .request_bytes = request.params.size(),
                            .tasks = &state_.tasks,
                            .takes_tasks = takes_tasks(request)};
    facts.draft.tenant = request.principal->tenant.text();
    facts.draft.principal = request.principal->id;
    facts.draft.call_id = call_id;
    facts.params = owned->params;
    return std::make_shared<ParkedCall>(std::move(facts), loop_);
}

Task<Reply> AskableCalls::begin(const ClientRequest& request, PostAnswer& answer) {
    const auto owned = std::make_shared<Owned>(request, request.params);
    auto planned = plans_.plan(owned->request);
    if (!planned) co_return std::move(planned.error());
    owned->plan = std::move(*planned);
    const auto parked = make_parked(
        owned, takes_tasks(request) ? std::string(loop_.ids().uuid_v7().view()) : std::string());
    tasks_.spawn("mcp call", host(parked, owned));
    co_return co_await follow(parked, request, answer);
}

Task<Reply> AskableCalls::go_on(const ClientRequest& request, PostAnswer& answer) {
    const auto given = json::find_raw_string(request.params, "requestState");
    const auto opened =
        given ? state_.sealer.open(SealedFor::kRequestState, bound_to(request), *given)
              : std::nullopt;
    if (!opened)
        co_return Reply::invalid_params(
            request, "requestState: not one that was given for this request, or too old");
    const State state = read_state(*opened);
    const auto parked = state_.parked.find(state.key);
    if (!parked) {
        const Error lost{.code = ErrorCode::kOutcomeUnknown,
                         .message = "what became of this call is not known any more"};
        const CallAnswer made = answer_of_error(request, unplanned(request), lost);
        co_return made.reply(request);
    }
    parked->answer(state.round, json::find_raw(request.params, "inputResponses").value_or("{}"));
    co_return co_await follow(parked, request, answer);
}

Task<Reply> AskableCalls::follow(std::shared_ptr<ParkedCall> parked, const ClientRequest& request,
                                 PostAnswer& answer) {
    const auto reader = std::make_shared<RemoteWaiter>(loop_.executor(), loop_.timers());
    parked->attach(reader);
    const bool takes = takes_tasks(request);
    Deadline due = takes ? loop_.now() + state_.options.task_after : kNoDeadline;
    while (true) {
        const ParkedCall::News news = parked->take();
        for (const std::string& notice : news.notices) answer.notify(notice);
        const bool is_task = news.task && takes;
        if (is_task || news.ended) {
            parked->detach(reader, false);
            co_return is_task ? task_created(request, *news.task) : news.ended->reply(request);
        }
        // a tool that has begun to work asks in its task
        const bool now = due != kNoDeadline && news.takes_long;
        if (!news.questions.empty() && !now) {
            parked->detach(reader, false);
            co_return input_required(request, parked, news);
        }
        if (now || loop_.now() >= due) {
            due = kNoDeadline;
            // beside this: the call may end, or its client leave, while the disk is slow
            if (parked->claim_task()) tasks_.spawn("making of an mcp task", make_task(parked));
            continue;
        }
        if (co_await reader->wait(due) != WaitEnd::kCancelled) continue;
        parked->detach(reader, true);
        co_return Reply::of_error(
            request,
            {.code = rpc_code::kInternalError, .message = "the request was cancelled", .data = {}});
    }
}

Reply AskableCalls::input_required(const ClientRequest& request,
                                   const std::shared_ptr<ParkedCall>& parked,
                                   const ParkedCall::News& news) {
    if (!state_.parked.keep(parked)) {
        parked->give_up();
        return Reply::of_error(request, rpc_error(Error{.code = ErrorCode::kRateLimited,
                                                        .message = "too many calls wait for input"},
                                                  rpc_code::kInternalError));
    }
    const std::string state = state_.sealer.seal(
        SealedFor::kRequestState, bound_to(request),
        fmt::format("{} {}", parked->facts().key, news.round), state_.options.input_wait);
    std::string result, formed;
    json::Writer writer(result);
    writer.begin_object().key("inputRequests").raw(news.questions);
    writer.key("requestState").string(state).end_object();
    ResultForm form = request.form();
    form.type = "input_required";
    append_plain_result(formed, result, form);
    return Reply::of_result(request, std::move(formed));
}

void AskableCalls::suspend() {
    const auto all = running_;  // which loses those that end
    for (const auto& parked : all) parked->suspend();
}

void AskableCalls::stop(std::function<void()> done) {
    suspend();
    tasks_.stop(std::move(done));
}

/// Keeps the call's own signal apart from the group's, for the pipeline cancels by it.
Task<void> AskableCalls::host(std::shared_ptr<ParkedCall> parked, std::shared_ptr<Owned> owned) {
    running_.insert(parked);
    const ScopeExit over([&] { running_.erase(parked); });
    Waiter done(loop_.timers());
    bool ended = false;
    std::exception_ptr failed;
    spawn(
        loop_.executor(), run(*parked, *owned),
        [&](const std::exception_ptr& failure) {
            failed = failure;
            ended = true;
            done.wake();
        },
        &parked->signal);
    while (!ended) {
        if (co_await done.wait(kNoDeadline) != WaitEnd::kCancelled) continue;
        (co_await this_chain()).forget_cancellation();
        parked->signal.emit();
    }
    if (failed) {
        const Error error{.code = ErrorCode::kInternal, .message = "the call failed"};
        parked->finish(answer_of_error(owned->request, owned->plan, error), loop_.now());
    }
    co_await settle(*parked);
    if (failed) std::rethrow_exception(failed);
}

Task<AskableCalls::Ended> AskableCalls::call_once(ParkedCall& parked, Owned& owned) {
    for (int round = 1;; ++round) {
        const bool may_ask = parked.facts().answers.url && round < kMostUrlRounds;
        Ended ended = co_await run_once(parked, owned, round, may_ask);
        // it runs anew when somebody has opened the pages that it wanted opened first
        if (ended.urls.empty() || !co_await all_accepted(parked, ended.urls)) co_return ended;
    }
}

Task<AskableCalls::Ended> AskableCalls::run_once(ParkedCall& parked, Owned& owned, int round,
                                                 bool may_ask) {
    const ClientIdentity client = client_of(owned.request);
    core::Call call;
    fill_call(call, owned.request, owned.plan, client);
    if (round == 1) call.id = owned.call_id;
    std::string key(call.idempotency_key);  // an outcome is kept under it, of the first run too
    if (round > 1 && !key.empty()) call.idempotency_key = key += fmt::format("#{}", round);
    call.canceller = &parked.signal;
    call.inquirer = &parked;
    call.approval_stops_clock = takes_tasks(owned.request);
    parked.call = &call;
    // also when a host throws: who cancels looks at it
    const ScopeExit over([&parked] { parked.call = nullptr; });
    ParkedSink sink(owned.request, parked, loop_.clock());
    std::optional<ClientApprover> approver;
    core::Approvals* const owners = state_.options.owners_approve;
    // a task says so in its state
    core::FrameSink* const told = takes_tasks(owned.request) ? nullptr : &sink;
    if (owners != nullptr || (told != nullptr && sink.wants_progress())) {
        approver.emplace(
            ClientApprover::Uses{loop_, told, owners, &parked, owned.request.principal->id});
        call.approver = &*approver;
        call.approval_stops_clock = call.approval_stops_clock || owners != nullptr;
    }
    const core::AuthenticatedCall authenticated(call, owned.request.principal);
    const core::CallEnd end = co_await runner_.run(authenticated, sink);
    if (approver) co_await approver->finish();
    parked.call = nullptr;
    Ended ended{.answer = answer_of(owned.request, owned.plan, call, end, state_.links)};
    if (!*end.outcome) ended.why = end.outcome->error().code;
    if (may_ask) ended.urls = urls_to_open(owned.request, end);
    co_return ended;
}

/// What is taken up has its tool soon after the start, or the ledger may know its end without.
Task<void> AskableCalls::run(ParkedCall& parked, Owned& owned) {
    constexpr Milliseconds kSoon{20'000}, kWithin{10 * 60'000};
    const auto failed = [&](const Error& error) {
        return Ended{.answer = answer_of_error(owned.request, owned.plan, error),
                     .why = error.code};
    };
    const bool asks_ledger = owned.again && owned.resume.empty();
    std::optional<Error> away;
    if (takes_tasks(owned.request))
        away = co_await wait_for_tool(parked, owned, asks_ledger ? kSoon : kWithin);
    if (asks_ledger && away && away->code == ErrorCode::kUnavailable) away.reset();
    Ended ended = away ? failed(*away) : co_await call_once(parked, owned);
    if (asks_ledger && ended.why == ErrorCode::kToolNotFound) {
        away = co_await wait_for_tool(parked, owned, kWithin);
        ended = away ? failed(*away) : co_await call_once(parked, owned);
    }
    parked.finish(std::move(ended.answer), loop_.now(), ended.why);
}

}  // namespace crab::mcp

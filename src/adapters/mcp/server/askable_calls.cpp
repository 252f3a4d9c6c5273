#include "adapters/mcp/server/askable_calls.hpp"

#include "adapters/mcp/server/call_answer.hpp"
#include "adapters/mcp/server/call_sink.hpp"
#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "base/encoding.hpp"
#include "base/scope_exit.hpp"
#include "crypto/digest.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

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

/// A request that outlives its POST, and what it asks to be run.
struct AskableCalls::Owned {
    explicit Owned(const ClientRequest& of) : params(of.params), request(of) {
        request.params = params;
        request.meta = read_request_meta(params);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    const std::string params;
    ClientRequest request;
    CallPlan plan;
};

bool AskableCalls::can_be_asked(const ClientRequest& request) {
    return request.modern() && request.method != "completion/complete" &&
           can_answer_any(answers_of_client(request));
}

Task<Reply> AskableCalls::begin(const ClientRequest& request, CallPlans& plans,
                                PostAnswer& answer) {
    const auto owned = std::make_shared<Owned>(request);
    auto planned = plans.plan(owned->request);
    if (!planned) co_return std::move(planned.error());
    owned->plan = std::move(*planned);
    ParkedCall::Facts facts{.key = state_.new_key(),
                            .principal = request.principal->id,
                            .credential = request.principal->credential_id,
                            .revision = request.revision,
                            .answers = answers_of_client(request),
                            .patience = state_.options.input_wait,
                            .request_bytes = request.params.size()};
    const auto parked = std::make_shared<ParkedCall>(std::move(facts), loop_);
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
        const CallPlan plan{.shape = CallShape::kTool, .tool = {}};
        const Error lost{.code = ErrorCode::kOutcomeUnknown,
                         .message = "what became of this call is not known any more"};
        const CallAnswer made = answer_of_error(request, plan, lost);
        co_return made.reply(request);
    }
    parked->answer(state.round, json::find_raw(request.params, "inputResponses").value_or("{}"));
    co_return co_await follow(parked, request, answer);
}

Task<Reply> AskableCalls::follow(std::shared_ptr<ParkedCall> parked, const ClientRequest& request,
                                 PostAnswer& answer) {
    const auto reader = std::make_shared<RemoteWaiter>(loop_.executor(), loop_.timers());
    parked->attach(reader);
    while (true) {
        const ParkedCall::News news = parked->take();
        for (const std::string& notice : news.notices) answer.notify(notice);
        if (news.ended || !news.questions.empty()) {
            parked->detach(reader, false);
            co_return news.ended ? news.ended->reply(request)
                                 : input_required(request, parked, news);
        }
        if (co_await reader->wait(kNoDeadline) != WaitEnd::kCancelled) continue;
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
    return Reply::of_result(request, formed);
}

/// Keeps the call's own signal apart from the group's, for the pipeline cancels by it.
Task<void> AskableCalls::host(std::shared_ptr<ParkedCall> parked, std::shared_ptr<Owned> owned) {
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
    if (!failed) co_return;
    const Error error{.code = ErrorCode::kInternal, .message = "the call failed"};
    parked->finish(answer_of_error(owned->request, owned->plan, error), loop_.now());
    std::rethrow_exception(failed);
}

Task<void> AskableCalls::run(ParkedCall& parked, Owned& owned) {
    const std::string agent = client_name(owned.request);
    core::Call call;
    fill_call(call, owned.request, owned.plan, agent);
    call.canceller = &parked.signal;
    call.inquirer = &parked;
    parked.call = &call;
    // also when a host throws: who cancels looks at it
    const ScopeExit over([&parked] { parked.call = nullptr; });
    CallSink sink(
        owned.request, [&parked](const std::string& message) { return parked.notify(message); },
        loop_.clock());
    const core::AuthenticatedCall authenticated(call, owned.request.principal);
    const core::CallEnd end = co_await pipeline_.run(authenticated, sink);
    parked.call = nullptr;
    parked.finish(answer_of(owned.request, owned.plan, call, end, state_.links), loop_.now());
}

}  // namespace crab::mcp

#include "admin/policy_explain.hpp"

#include "json/value.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::admin {
namespace {

constexpr const char* kForm =
    "the body must be a JSON object with `as` and `question`: an action, `call TOOL` or `register "
    "TOOL`; and may have `roles`, a list of words, `tenant`, `args`, `file`, `source`, `effects` "
    "(none or possible) and `bytes`";
constexpr std::string_view kHidden = "tenant: the tool is offered to another one";
constexpr std::string_view kOtherTenant = "tenant: the principal acts for another one";

/// Whether the tool is of other tenants, and not found in this one.
bool is_hidden_from(const core::Tool& tool, std::string_view tenant) {
    const auto is_it = [&](const TenantId& its) { return its.text() == tenant; };
    return !tenant.empty() && !tool.tenant.empty() && !is_it(tool.tenant) &&
           std::ranges::none_of(tool.more_tenants, is_it);
}

/// Something that a call meets after the policy has let it through.
struct NextCheck {
    std::string_view check;
    bool ok = true;
    std::string text;
};

std::string text_in(json::Element body, std::string_view name) {
    return std::string(json::get_string(body, name).value_or(""));
}

/// The first violation, in words.
std::string first_violation(const core::CheckedCall& checked) {
    const auto found = json::Value::parse(checked.violations);
    const auto* const errors = found ? found->as_array() : nullptr;
    if (errors == nullptr || errors->empty()) return "the arguments are not what the tool takes";
    const json::Value* const message = errors->front().find("message");
    return message != nullptr && message->as_string() ? *message->as_string() : std::string();
}

void append_step(json::Writer& writer, const core::PolicyStep& step) {
    writer.begin_object().key("rule").string_lossy(step.rule);
    if (step.line > 0) writer.key("line").integer(step.line);
    writer.key("effect").string(core::name_of(step.effect));
    writer.key("matched").boolean(step.matched);
    writer.key("because").string_lossy(step.because).end_object();
}

}  // namespace

struct PolicyExplain::Question {
    core::PrincipalRef who;
    std::string kind, name;  ///< `call`, `register`, or empty: an action
    std::string tenant, source, effects;
    std::optional<std::string> args;  ///< JSON; nothing: whichever they may be
    bool file = false, bytes = false;
    /// Whether the tool is described by the question
    bool describes_tool() const { return !source.empty() || !effects.empty(); }
};

struct PolicyExplain::Answer {
    core::Verdict verdict = core::Verdict::kDeny;
    std::string rule;
    std::vector<core::PolicyStep> steps;
    bool depends_on_arguments = false;
    std::string tenant;
    core::ToolRef tool;  ///< null: none is offered here by that name
    std::vector<NextCheck> then;

    void decided(const core::Decision& decision) {
        verdict = decision.verdict;
        rule = decision.rule;
    }
    /// A decision whose parts are not told.
    void decided_at_once(core::Verdict by, std::string_view text) {
        decided({by, text});
        core::PolicyTrace trace;
        trace.add({.rule = rule,
                   .line = 0,
                   .effect = by == core::Verdict::kAllow ? core::PolicyStep::Effect::kAllow
                                                         : core::PolicyStep::Effect::kDeny,
                   .matched = true,
                   .because = "it decides"});
        steps = trace.steps();
    }
    void write(std::string& out) const;
};

void PolicyExplain::Answer::write(std::string& out) const {
    json::Writer writer(out);
    writer.begin_object().key("verdict").string(core::name_of(verdict));
    writer.key("rule").string_lossy(rule);
    if (depends_on_arguments) writer.key("depends_on_arguments").boolean(true);
    writer.key("tenant").string_lossy(tenant);
    if (tool) writer.key("tool").string(tool->unique_name);
    writer.key("steps").begin_array();
    for (const core::PolicyStep& step : steps) append_step(writer, step);
    writer.end_array().key("then").begin_array();
    for (const NextCheck& each : then) {
        writer.begin_object().key("check").string(each.check).key("ok").boolean(each.ok);
        writer.key("text").string_lossy(each.text).end_object();
    }
    writer.end_array().end_object();
}

void PolicyExplain::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/policy/explain",
                .proof = net::FreshProof::kNever,
                .unrecorded = "asks, and changes nothing",
                .summary = "May this principal do that, and what does each rule say of it?",
                .request = "policy_question",
                .answers = {{200, "policy_explanation"}},
                .refusals = {400, 404, 503}},
               [this](const Request& request) { return explain(request); });
}

Result<PolicyExplain::Question> PolicyExplain::read(std::string_view body) {
    const auto root = parser_.parse(body);
    if (!root || !root->element().is_object()) return fail(ErrorCode::kInvalidArgs, kForm);
    const json::Element members = root->element();
    Question question;
    question.tenant = text_in(members, "tenant");
    question.source = text_in(members, "source");
    question.effects = text_in(members, "effects");
    question.file = json::get_bool(members, "file").value_or(false);
    question.bytes = json::get_bool(members, "bytes").value_or(false);
    const std::string as = text_in(members, "as"), asked = text_in(members, "question");
    std::optional<core::Roles> roles;
    if (const auto names = json::get_array(members, "roles")) {
        for (const json::Element each : *names) {
            std::string_view name;
            const auto role =
                each.get(name) == simdjson::SUCCESS ? core::find_role(name) : std::nullopt;
            if (!role) return fail(ErrorCode::kInvalidArgs, kForm);
            if (!roles) roles.emplace();
            roles->add(*role);
        }
    }
    const std::size_t space = asked.find(' ');
    question.kind = space == asked.npos ? "" : asked.substr(0, space);
    question.name = space == asked.npos ? asked : asked.substr(space + 1);
    const bool known =
        question.kind.empty() || question.kind == "call" || question.kind == "register";
    if (as.empty() || question.name.empty() || !known) return fail(ErrorCode::kInvalidArgs, kForm);
    if (const auto args = root->raw_member("args")) {
        if (!json::get_object(members, "args"))
            return fail(ErrorCode::kInvalidArgs, "/args: has to be a JSON object");
        question.args = *args;
    }
    question.who = services_.principals.find(as, roles);
    if (question.who->roles.empty())
        return fail(ErrorCode::kInvalidArgs, std::string(kNoSuchPrincipal));
    return question;
}

Task<void> PolicyExplain::explain(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    auto question = read(exchange.request().body);
    if (!question) co_return exchange.respond_error(question.error());
    std::shared_ptr<const core::Policy> policy = services_.rules.get()->policy;
    if (question->file) {
        auto on_disk = co_await services_.pool.run([this] { return services_.read_file(); });
        if (!on_disk) co_return exchange.respond_error(on_disk.error());
        policy = std::move(*on_disk);
    }
    auto answer = decide(*question, *policy);
    if (!answer) co_return exchange.respond_error(answer.error());
    if (question->kind == "call" && answer->verdict != core::Verdict::kDeny)
        co_await look_further(*question, *answer);
    answer->write(exchange.begin_response(200, net::kJsonType));
    exchange.finish_response();
}

Result<PolicyExplain::Answer> PolicyExplain::decide(const Question& question,
                                                    const core::Policy& policy) {
    if (question.kind == "call") return decide_call(question, policy);
    Answer answer;
    answer.tenant = question.tenant;
    if (question.kind == "register") {
        const core::Decision decision = policy.decide_registration(*question.who, question.name);
        answer.decided_at_once(decision.verdict, decision.rule);
    } else if (question.file) {
        const core::Decision decision =
            policy.decide_action(*question.who, question.name, question.tenant);
        answer.decided_at_once(decision.verdict, decision.rule);
    } else {
        const trust::ActionDecision decision = services_.access.decide(
            *question.who, question.name,
            {.tenant = question.tenant, .agent_id = {}, .session_id = {}}, {});
        answer.decided_at_once(decision.verdict, decision.rule);
    }
    return answer;
}

Result<PolicyExplain::Answer> PolicyExplain::decide_call(const Question& question,
                                                         const core::Policy& policy) {
    Answer answer;
    answer.tenant =
        question.tenant.empty() ? std::string(policy.home_tenant(*question.who)) : question.tenant;
    if (!answer.tenant.empty() && !policy.may_act_in(*question.who, answer.tenant)) {
        answer.decided_at_once(core::Verdict::kDeny, kOtherTenant);
        return answer;
    }
    const core::Tool tool = tool_of(question, policy, answer.tenant, answer);
    core::CallArguments args(std::nullopt);
    if (question.bytes) args = core::CallArguments::not_json();
    if (question.args) {
        const auto root = parser_.parse(*question.args);
        if (!root) return fail(root.error());
        args = core::CallArguments(root->element());
    }
    core::PolicyTrace trace;
    answer.decided(policy.decide_call(*question.who, tool, args, answer.tenant, &trace));
    if (answer.verdict != core::Verdict::kDeny && answer.tool &&
        is_hidden_from(tool, answer.tenant)) {
        answer.decided({core::Verdict::kDeny, kHidden});
        trace.add({.rule = answer.rule,
                   .line = 0,
                   .effect = core::PolicyStep::Effect::kDeny,
                   .matched = true,
                   .because = fmt::format("it is offered to the tenant {}, and the call is for {}",
                                          tool.tenant.text(), answer.tenant)});
    }
    answer.steps = trace.steps();
    if (args.are_any() && answer.rule != kHidden) {
        // Where nothing is seen of the arguments every rule about them refuses and asks.
        const core::Decision unseen =
            policy.decide_call(*question.who, tool, core::CallArguments::not_json(), answer.tenant);
        answer.depends_on_arguments = unseen.verdict != answer.verdict;
    }
    return answer;
}

/// The tool that a call of that name gets, one that the caller may not call too; or one like the
/// question describes it.
core::Tool PolicyExplain::tool_of(const Question& question, const core::Policy& policy,
                                  std::string_view tenant, Answer& answer) const {
    if (!question.describes_tool()) {
        const core::View view{.principal = question.who.get(),
                              .policy = &policy,
                              .tenant = tenant,
                              .prefer_source = {},
                              .prefer = {}};
        auto found = services_.registry.get()->resolve(view, question.name);
        if (!found) found = tools_.resolve(question.name);
        if (found) {
            answer.tool = *found;
            answer.then.push_back(
                {.check = "tool",
                 .ok = true,
                 .text = fmt::format("{} of {}", (*found)->unique_name, (*found)->source_text)});
            return **found;
        }
        answer.then.push_back(
            {.check = "tool", .ok = false, .text = std::move(found.error().message)});
    }
    core::Tool tool;
    tool.spec.name = tool.unique_name = question.name;
    tool.source_text = question.source;
    tool.spec.effects_known = question.effects == "none";
    return tool;
}

Task<void> PolicyExplain::look_further(const Question& question, Answer& answer) {
    if (!answer.tool) co_return;
    core::Call call;
    call.tool = answer.tool->unique_name;
    call.tenant = answer.tenant;
    call.args = question.args ? std::string_view(*question.args) : "{}";
    const auto checked =
        co_await services_.checks.check(core::AuthenticatedCall(call, question.who));
    if (question.args)
        answer.then.push_back({.check = "arguments",
                               .ok = checked.valid,
                               .text = checked.valid ? "valid" : first_violation(checked)});
    for (const std::string& hook : checked.hooks)
        answer.then.push_back({.check = "hook",
                               .ok = true,
                               .text = fmt::format("{} sees the call and may refuse it", hook)});
    tell_limits(answer, *services_.rules.get(), *question.who);
    if (answer.verdict != core::Verdict::kNeedsApproval && !checked.needs_approval) co_return;
    const auto asked = services_.approvals.attendance();
    answer.then.push_back(
        {.check = "approval",
         .ok = asked.watching > 0 || asked.waits,
         .text = asked.watching > 0 ? fmt::format("{} can be asked now", asked.watching)
                 : asked.waits
                     ? "nobody watches now; the call waits for somebody"
                     : "nobody watches now: unless its own caller can be asked, the call is "
                       "refused at once"});
}

void PolicyExplain::tell_limits(Answer& answer, const core::CallRules& rules,
                                const core::Principal& who) const {
    const auto left = rules.rates->left(who, *answer.tool, services_.clock.steady_now());
    if (left)
        answer.then.push_back(
            {.check = "rate",
             .ok = *left >= 1,
             .text = fmt::format("{} calls are left at once", std::floor(*left))});
}

}  // namespace crab::admin

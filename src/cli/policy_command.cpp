#include "cli/admin_client.hpp"
#include "cli/call_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "config/load.hpp"
#include "core/policy/policy_trace.hpp"
#include "json/parser.hpp"
#include "net/codec/url.hpp"
#include "setup/policy_rules.hpp"
#include "trust/named_principal.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

/// `{verdict,rule,depends_on_arguments?,steps}`, as the gateway answers.
json::Value to_answer(const core::Decision& decision, const core::PolicyTrace& trace,
                      bool depends = false) {
    json::Value answer = json::Value::object({{"verdict", std::string(name_of(decision.verdict))},
                                              {"rule", std::string(decision.rule)}});
    if (depends) answer.set("depends_on_arguments", true);
    if (trace.steps().empty()) return answer;
    json::Value::Items steps;
    for (const core::PolicyStep& step : trace.steps()) {
        json::Value& told = steps.emplace_back(json::Value::object({{"rule", step.rule}}));
        if (step.line > 0) told.set("line", step.line);
        told.set("effect", std::string(name_of(step.effect)));
        told.set("matched", step.matched);
        told.set("because", step.because);
    }
    answer.set("steps", json::Value::array(std::move(steps)));
    return answer;
}

Result<core::Principal> principal_of(const PolicyTest& options) {
    const std::string roles_text = fmt::format("{}", fmt::join(options.roles, ","));
    const auto roles = core::Roles::parse(roles_text);
    if (!roles)
        return fail(ErrorCode::kInvalidArgs,
                    "--role: roles are device, caller, operator, tool_host, subscriber, listener, "
                    "cli_admin");
    core::Principal principal =
        trust::principal_named(options.as, options.roles.empty() ? std::nullopt : roles);
    if (principal.roles.empty())
        return fail(
            ErrorCode::kInvalidArgs,
            "--as: begins with caller/, oauth/, device/, agent/, local/, tool_host/, subscriber/, "
            "listener/ or operator/; else name its roles with --role");
    return principal;
}

Result<json::Value> ask_about_call(const core::Policy& policy, core::Principal principal,
                                   const PolicyTest& options) {
    principal.tenant = TenantId(options.tenant);
    core::Tool tool;
    tool.spec.name = tool.unique_name = options.question[1];
    tool.source_text = options.source;
    tool.spec.effects_known = options.effects == "none";
    const core::Decision not_json =
        policy.decide_call(principal, tool, core::CallArguments::not_json());
    core::PolicyTrace trace;
    const auto decide = [&](const core::CallArguments& args) {
        return policy.decide_call(principal, tool, args, {}, &trace);
    };
    if (options.bytes) return to_answer(decide(core::CallArguments::not_json()), trace);
    if (options.args.empty()) {
        const core::Decision any = decide(std::nullopt);
        return to_answer(any, trace, any.verdict != not_json.verdict);
    }
    const auto args = read_call_arguments(options.args, {});
    if (!args) return fail(args.error());
    json::Parser parser;
    const std::string text = args->dump();
    const auto root = parser.parse(text);
    if (!root) return fail(root.error());
    return to_answer(decide(root->element()), trace);
}

/// From the configuration, without a gateway.
Result<json::Value> ask_file(const PolicyTest& options) {
    const auto principal = principal_of(options);
    if (!principal) return fail(principal.error());
    const auto config =
        config::load_first(options.target.config, config::Paths::find(false, ::getuid()));
    if (!config) return fail(config.error());
    const auto policy = setup::make_policy(*config);
    if (!policy) return fail(policy.error());
    if (options.question.size() == 1)
        return to_answer((*policy)->decide_action(*principal, options.question[0], options.tenant),
                         {});
    if (options.question[0] == "call") return ask_about_call(**policy, *principal, options);
    return to_answer((*policy)->decide_registration(*principal, options.question[1]), {});
}

/// About an action under a lease, which the gateway knows.
Result<json::Value> ask_about_lease(AdminClient& client, const PolicyTest& options) {
    if (options.question.size() != 1)
        return fail(ErrorCode::kInvalidArgs,
                    "a lease is about actions; calls and registrations have none");
    std::string query;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty())
            query +=
                fmt::format("{}{}={}", query.empty() ? "?" : "&", name, net::percent_encode(value));
    };
    add("as", options.as), add("action", options.question[0]), add("tenant", options.tenant),
        add("agent", options.agent), add("session", options.session);
    add("lease", options.lease), add("roles", fmt::format("{}", fmt::join(options.roles, ",")));
    return accepted(client.get("/v1/admin/policy" + query));
}

Result<json::Value> ask_gateway(const PolicyTest& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return fail(client.error());
    if (!options.lease.empty()) return ask_about_lease(*client, options);
    json::Value question = json::Value::object(
        {{"as", options.as}, {"question", fmt::format("{}", fmt::join(options.question, " "))}});
    if (!options.roles.empty()) {
        json::Value::Items roles(options.roles.begin(), options.roles.end());
        question.set("roles", json::Value::array(std::move(roles)));
    }
    if (!options.tenant.empty()) question.set("tenant", options.tenant);
    if (!options.source.empty()) question.set("source", options.source);
    if (!options.effects.empty()) question.set("effects", options.effects);
    if (options.bytes) question.set("bytes", true);
    if (!options.args.empty()) {
        auto args = read_call_arguments(options.args, {});
        if (!args) return fail(args.error());
        question.set("args", std::move(*args));
    }
    auto answer = accepted(client->post("/v1/admin/policy/explain", question));
    if (!answer && answer.error().code == ErrorCode::kUnavailable)
        answer.error().message += "; --file asks the configuration file instead";
    return answer;
}

/// Each rule, with a star where it matches; and what the call meets next.
void print_trace(const json::Value& answer) {
    Table table({"", "RULE", "LINE", "EFFECT", "WHY"});
    for (const json::Value& step : items_of(answer, "steps")) {
        const json::Value* const line = step.find("line");
        table.add({flag_of(step, "matched") ? "*" : "", text_of(step, "rule"),
                   line != nullptr ? line->dump() : "", text_of(step, "effect"),
                   text_of(step, "because")});
    }
    print(table.to_text(Terminal::out()));
    for (const json::Value& next : items_of(answer, "then"))
        print_line(
            printable(fmt::format("then {}: {}{}", text_of(next, "check"),
                                  flag_of(next, "ok") ? "" : "no: ", text_of(next, "text"))));
}

}  // namespace

int run(const PolicyTest& options) {
    const bool known = options.question.size() == 1 ||
                       (options.question[0] == "call" || options.question[0] == "register");
    if (!known)
        return report(
            fail(ErrorCode::kInvalidArgs, "ask about an action, or call TOOL, or register TOOL")
                .error());
    const Result<json::Value> answer = options.file ? ask_file(options) : ask_gateway(options);
    if (!answer) return report(answer.error());
    const std::string verdict = text_of(*answer, "verdict");
    if (!options.output.is_text()) {
        if (const int code = show_value(*answer, options.output); code != kExitOk) return code;
    } else {
        print_line(
            printable(fmt::format("{}, by rule {}{}", verdict, text_of(*answer, "rule"),
                                  flag_of(*answer, "depends_on_arguments")
                                      ? " (other arguments may change that; name some with --args)"
                                      : "")));
        if (options.trace) print_trace(*answer);
    }
    return verdict == core::name_of(core::Verdict::kAllow) ? kExitOk : kExitRefused;
}

}  // namespace crab::cli

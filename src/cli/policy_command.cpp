#include "cli/admin_client.hpp"
#include "cli/call_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "config/load.hpp"
#include "json/parser.hpp"
#include "net/codec/url.hpp"
#include "setup/policy_rules.hpp"
#include "trust/named_principal.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

struct Answer {
    std::string verdict, rule;
    bool depends = false;   ///< on arguments that were not named
};

Answer to_answer(const core::Decision& decision, bool depends = false) {
    return {.verdict = std::string(core::name_of(decision.verdict)),
            .rule = std::string(decision.rule),
            .depends = depends};
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

Result<Answer> ask_about_call(const core::Policy& policy, core::Principal principal,
                              const PolicyTest& options) {
    principal.tenant = TenantId(options.tenant);
    core::Tool tool;
    tool.spec.name = tool.unique_name = options.question[1];
    tool.source_text = options.source;
    tool.spec.effects_known = options.effects == "none";
    const core::Decision not_json =
        policy.decide_call(principal, tool, core::CallArguments::not_json());
    if (options.bytes) return to_answer(not_json);
    if (options.args.empty()) {
        const core::Decision any = policy.decide_call(principal, tool, std::nullopt);
        return to_answer(any, any.verdict != not_json.verdict);
    }
    const auto args = read_call_arguments(options.args, {});
    if (!args) return fail(args.error());
    json::Parser parser;
    const std::string text = args->dump();
    const auto root = parser.parse(text);
    if (!root) return fail(root.error());
    return to_answer(policy.decide_call(principal, tool, root->element()));
}

/// From the configuration, without a gateway.
Result<Answer> ask_policy(const PolicyTest& options) {
    const auto principal = principal_of(options);
    if (!principal) return fail(principal.error());
    const auto config =
        config::load_first(options.target.config, config::Paths::find(false, ::getuid()));
    if (!config) return fail(config.error());
    const auto policy = setup::make_policy(*config);
    if (!policy) return fail(policy.error());
    if (options.question.size() == 1)
        return to_answer((*policy)->decide_action(*principal, options.question[0], options.tenant));
    if (options.question[0] == "call") return ask_about_call(**policy, *principal, options);
    if (options.question[0] == "register")
        return to_answer((*policy)->decide_registration(*principal, options.question[1]));
    return fail(ErrorCode::kInvalidArgs, "ask about an action, or call TOOL, or register TOOL");
}

/// From the running gateway, which knows the leases.
Result<Answer> ask_gateway(const PolicyTest& options) {
    if (options.question.size() != 1)
        return fail(ErrorCode::kInvalidArgs,
                    "a lease is about actions; calls and registrations have none");
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return fail(client.error());
    std::string query;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty())
            query +=
                fmt::format("{}{}={}", query.empty() ? "?" : "&", name, net::percent_encode(value));
    };
    add("as", options.as), add("action", options.question[0]), add("tenant", options.tenant),
        add("agent", options.agent), add("session", options.session);
    add("lease", options.lease), add("roles", fmt::format("{}", fmt::join(options.roles, ",")));
    const Result<json::Value> reply = accepted(client->get("/v1/admin/policy" + query));
    if (!reply) return fail(reply.error());
    return Answer{
        .verdict = text_of(*reply, "verdict"), .rule = text_of(*reply, "rule"), .depends = false};
}

}  // namespace

int run(const PolicyTest& options) {
    const Result<Answer> answer =
        options.lease.empty() ? ask_policy(options) : ask_gateway(options);
    if (!answer) return report(answer.error());
    if (options.output == Output::kJson) {
        json::Value line =
            json::Value::object({{"verdict", answer->verdict}, {"rule", answer->rule}});
        if (answer->depends) line.set("depends_on_arguments", true);
        print_json(line);
    } else {
        print_line(printable(fmt::format(
            "{}, by rule {}{}", answer->verdict, answer->rule,
            answer->depends ? " (other arguments may change that; name some with --args)" : "")));
    }
    return answer->verdict == core::name_of(core::Verdict::kAllow) ? kExitOk : kExitRefused;
}

}  // namespace crab::cli

#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/approval_text.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "net/codec/url.hpp"

#include <iostream>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::string_view kApprovalsPath = "/v1/admin/approvals";

Result<json::Value> decide(const Target& target, const std::string& id, std::string_view decision,
                           std::string_view scope) {
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return fail(client.error());
    json::Value body = json::Value::object();
    body.set("decision", decision);
    body.set("scope", scope);
    return accepted(
        client->post(fmt::format("{}/{}", kApprovalsPath, net::percent_encode(id)), body));
}

std::string why_of(const json::Value& approval) {
    const std::string rule = text_of(approval, "rule");
    return rule.empty()
               ? text_of(approval, "privilege_level") + ", " + text_of(approval, "network_policy")
               : rule;
}

/// What became of it, and by whom.
std::string state_of(const json::Value& approval) {
    const std::string by = text_of(approval, "decided_by");
    return text_of(approval, "state") +
           (by.empty() ? "" : fmt::format(" by {} ({})", by, text_of(approval, "scope")));
}

/// How far the call may go, and where it would run.
std::string confines_of(const json::Value& approval) {
    std::string text =
        text_of(approval, "privilege_level") + ", " + text_of(approval, "network_policy");
    if (const std::string place = text_of(approval, "worktree"); !place.empty())
        text += ", in " + place;
    if (const std::string session = text_of(approval, "session"); !session.empty())
        text += ", session " + session;
    return text;
}

/// What the list shows: the questions that wait, or all.
Result<json::Value> listed(const ApprovalsList& options) {
    Result<json::Value> reply = fetch(options.target, std::string(kApprovalsPath));
    if (!reply || options.all) return reply;
    json::Value waiting = json::Value::array();
    for (const json::Value& approval : items_of(*reply, "approvals")) {
        if (text_of(approval, "state") == "pending") waiting.push_back(approval);
    }
    reply->set("approvals", std::move(waiting));
    return reply;
}

/// Asks at the terminal until there is an answer; nothing at the end of the input.
std::optional<ApprovalAnswer> ask() {
    for (std::string line;;) {
        fmt::print(stderr, "{} ", kApprovalChoices);
        if (!std::getline(std::cin, line)) return std::nullopt;
        if (const auto answer = parse_approval_answer(line)) return answer;
    }
}

}  // namespace

int run(const ApprovalsList& options) {
    const Listing listing{.members = {"approvals"},
                          .name = by_member("id"),
                          .columns = {column("APPROVAL", "id"),
                                      {"STATE", state_of},
                                      column("UNTIL", "until"),
                                      column("PRINCIPAL", "principal"),
                                      column("TOOL", "tool"),
                                      {"WHY", why_of},
                                      {"UP TO", confines_of},
                                      column("ARGUMENTS", "args")},
                          .empty = options.all ? "No calls have needed an approval lately."
                                               : "No calls wait for an approval."};
    return show_list([&] { return listed(options); }, listing, options.output);
}

int run(const ApprovalsShow& options) {
    const Result<json::Value> approval = fetch(
        options.target, fmt::format("{}/{}", kApprovalsPath, net::percent_encode(options.id)));
    if (!approval) return report(approval.error());
    if (!options.output.is_text()) return show_value(*approval, options.output);
    print_members(*approval, 18);
    return kExitOk;
}

int run(const ApprovalsDecide& options) {
    const Result<json::Value> approval =
        decide(options.target, options.id, options.allow ? "allow" : "deny", options.scope);
    if (!approval) return report(approval.error());
    return show_done(
        *approval, options.output, options.id,
        fmt::format("{} {} of {}, {}", text_of(*approval, "state"), text_of(*approval, "tool"),
                    text_of(*approval, "principal"), text_of(*approval, "scope")));
}

int run(const ApprovalsWatch& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto on_event = [&](const ServerEvent& event) {
        const auto news = json::Value::parse(event.data);
        if (!news || event.type == "watching") return true;
        if (options.output == Output::kJson) {
            print_line(fmt::format(R"({{"type":"{}","approval":{}}})", event.type, event.data));
        } else if (event.type == "question") {
            print_line(fmt::format("{}  {}", text_of(*news, "id"), approval_text(*news)));
        } else {
            print_line(printable(fmt::format("{}  {}", text_of(*news, "id"), state_of(*news))));
        }
        std::fflush(stdout);
        if (!options.ask || event.type != "question") return true;
        const auto answer = ask();
        if (!answer) return false;
        if (const auto decided =
                decide(options.target, text_of(*news, "id"), answer->decision, answer->scope);
            !decided)
            complain(printable(decided.error().message));
        return true;
    };
    const auto ended = accepted(client->follow(fmt::format("{}/watch", kApprovalsPath), on_event));
    if (!ended) return report(ended.error());
    return kExitOk;
}

int run(const ApprovalsRemembered& options) {
    static const Listing kRemembered{.members = {"remembered"},
                                     .name = by_member("id"),
                                     .columns = {column("APPROVAL", "id"),
                                                 column("DECISION", "decision"),
                                                 column("SCOPE", "scope"),
                                                 column("UNTIL", "until"),
                                                 column("PRINCIPAL", "principal"),
                                                 column("TOOL", "tool"),
                                                 {"WHY", why_of},
                                                 {"UP TO", confines_of},
                                                 column("BY", "decided_by")},
                                     .empty = "No decisions are remembered."};
    return show_list(
        [&] { return fetch(options.target, fmt::format("{}/remembered", kApprovalsPath)); },
        kRemembered, options.output);
}

int run(const ApprovalsForget& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Result<json::Value> reply = accepted(client->remove(
        fmt::format("{}/remembered/{}", kApprovalsPath, net::percent_encode(options.id))));
    if (!reply) return report(reply.error());
    return show_done(*reply, options.output, options.id,
                     fmt::format("forgot: {} {} for {}", text_of(*reply, "decision"),
                                 text_of(*reply, "tool"), text_of(*reply, "principal")));
}

}  // namespace crab::cli

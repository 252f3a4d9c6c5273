#include "cli/command_grammar.hpp"

namespace crab::cli {

template <class T>
void CommandLine::pairing(CLI::App* command, T& options) {
    local(command, options.target);
    command->add_option("--admin-socket", options.target.socket, "The original's name of --socket")
        ->group("");
    duration(command, "--timeout", options.timeout, "Longest wait (default: 20s)");
    command->add_flag(
        "--replace", options.replace,
        "Whatever was known of this name or endpoint does not count; its certificate is revoked");
    choose_output(command, options.output);
}

void CommandLine::pair(CLI::App& peers) {
    CLI::App& parent = *peers.add_subcommand(
        "pair", "Pair the gateway with tool hosts, subscribers and operators");
    parent.require_subcommand(1);
    auto [test, test_options] = leaf<PairTest>(
        parent, "test", "Pair with a remote that this command plays, to see that pairing works",
        "  crab peers pair test\n  crab peers pair test --component-id probe");
    test->add_option("--gateway-public-key", test_options->gateway_public_key,
                     "Key of the gateway that may pair (default: the gateway is asked)")
        ->type_name("B64");
    test->add_option("--component-id", test_options->component_id,
                     "Id of the tool host that is played (default: the host's name)")
        ->type_name("ID");
    test->add_option("--listen-addr", test_options->listen_address,
                     "Where it listens, on loopback; 127.0.0.1:0 alone will do")
        ->type_name("URL")
        ->capture_default_str();
    test->add_option("--listen-path", test_options->listen_path,
                     "Path of the WebSocket there (default: that of --listen-addr)")
        ->type_name("PATH");
    pairing(test, *test_options);
    const auto add = [&](const std::string& word, const std::string& type, const std::string& what,
                         const std::string& example) {
        auto [command, options] = leaf<PairRemote>(parent, word, "Pair with " + what,
                                                   "  crab peers pair " + word + " " + example);
        options->component_type = type;
        command
            ->add_option("endpoint", options->endpoint,
                         "Where the remote waits: wss://host:port, ws:// on loopback")
            ->type_name("ENDPOINT")
            ->required();
        command->add_option("name", options->name, "Its component id")
            ->type_name("NAME")
            ->required();
        command
            ->add_option("--remote-key", options->remote_key,
                         "The remote_key= that the remote prints at its start; any other is "
                         "refused (default: "
                         "the key that it shows first is believed)")
            ->type_name("B64");
        pairing(command, *options);
    };
    add("tool", "tool_host", "a tool host", "wss://tools.example:7443 memory");
    add("subscriber", "subscriber", "a subscriber of events", "wss://log.example:7443 log");
    add("cli", "operator", "an operator's command line", "wss://desk.example:7443 desk");
}

void CommandLine::peers() {
    CLI::App& parent = group("peers", "Pair, see and manage peers");
    pair(parent);
    auto [list, list_options] =
        leaf<PeersList>(parent, "list", "List the peers", "  crab peers list");
    asks(list, *list_options, Answer::kList);
    auto [show, show_options] =
        leaf<PeersShow>(parent, "show", "Show one peer", "  crab peers show tool_host/memory");
    peer(show, show_options->peer, show_options->target);
    choose_output(show, show_options->output);
    auto [renew, renew_options] =
        leaf<PeersRenew>(parent, "renew", "Give a peer a new certificate now",
                         "  crab peers renew tool_host/memory");
    peer(renew, renew_options->peer, renew_options->target);
    choose_output(renew, renew_options->output, Answer::kChange);
    auto [revoke, revoke_options] =
        leaf<PeersRevoke>(parent, "revoke", "Revoke a peer for good",
                          "  crab peers revoke tool_host/memory --reason lost");
    peer(revoke, revoke_options->peer, revoke_options->target);
    confirm(revoke, revoke_options->yes);
    choose_output(revoke, revoke_options->output, Answer::kChange);
    revoke->add_option("--reason", revoke_options->reason, "Why, for the record (default: nothing)")
        ->type_name("TEXT");
    const auto add = [&](const std::string& word, const std::string& status,
                         const std::string& what) {
        auto [command, options] =
            leaf<PeersSetStatus>(parent, word, what, "  crab peers " + word + " tool_host/memory");
        options->status = status;
        peer(command, options->peer, options->target);
        choose_output(command, options->output, Answer::kChange);
    };
    add("enable", "active", "Use a peer again that was put aside");
    add("disable", "inactive", "Put a peer aside; its record stays");
    auto [identity, identity_options] = leaf<PeersIdentity>(
        parent, "identity",
        "Print the gateway's own id, key and authority, for the remotes' configuration",
        "  crab peers identity");
    asks(identity, *identity_options);
}

void CommandLine::peer(CLI::App* command, std::string& name, Target& target) {
    command->add_option("peer", name, "Type and id, such as tool_host/memory")
        ->type_name("PEER")
        ->required();
    local(command, target);
}

void CommandLine::approvals() {
    CLI::App& parent = group("approvals", "See and decide which calls may run");
    auto [list, list_options] =
        leaf<ApprovalsList>(parent, "list", "List the calls that wait for a decision",
                            "  crab approvals list\n  crab approvals list --all");
    list->add_flag("--all", list_options->all,
                   "Also those that ended in the last minutes; most of them can still be allowed "
                   "for a repeat");
    asks(list, *list_options, Answer::kList);
    auto [show, show_options] = leaf<ApprovalsShow>(parent, "show", "Show one with its arguments",
                                                    "  crab approvals show 5f0c9a3be214");
    approval(show, show_options->id, show_options->target);
    choose_output(show, show_options->output);
    decide(
        parent, "allow", "Let the call run", true,
        "  crab approvals allow 5f0c9a3be214\n  crab approvals allow 5f0c9a3be214 --scope session");
    decide(parent, "deny", "Refuse the call", false,
           "  crab approvals deny 5f0c9a3be214\n  crab approvals deny 5f0c9a3be214 --scope always");
    auto [watch, watch_options] = leaf<ApprovalsWatch>(
        parent, "watch",
        "Follow the questions; while this runs, calls wait instead of being refused",
        "  crab approvals watch\n  crab approvals watch --ask");
    watch->add_flag("--ask", watch_options->ask, "Decide each at this terminal");
    asks(watch, *watch_options, Answer::kStream);
    auto [remembered, remembered_options] = leaf<ApprovalsRemembered>(
        parent, "remembered", "List the decisions that hold for calls to come",
        "  crab approvals remembered");
    asks(remembered, *remembered_options, Answer::kList);
    auto [forget, forget_options] = leaf<ApprovalsForget>(
        parent, "forget", "Withdraw a remembered decision", "  crab approvals forget 5f0c9a3be214");
    approval(forget, forget_options->id, forget_options->target);
    choose_output(forget, forget_options->output, Answer::kChange);
}

void CommandLine::decide(CLI::App& parent, const std::string& name, const std::string& description,
                         bool allow, const std::string& examples) {
    auto [command, options] = leaf<ApprovalsDecide>(parent, name, description, examples);
    options->allow = allow;
    if (allow) command->alias("grant");  // sw4rm's word
    CLI::Option* const scope =
        command
            ->add_option("--scope", options->scope,
                         "once: this call only; session: such calls of its session; always: such "
                         "calls of its principal, until crab approvals forget")
            ->type_name("SCOPE")
            ->check(one_of({"once", "session", "always"}))
            ->capture_default_str();
    std::vector<CLI::Option*> old;
    for (const char* word : {"once", "session", "always"}) {
        CLI::Option* const flag = command->add_flag_callback(
            fmt::format("--{}", word),
            [this, out = &options->scope, word] {
                *out = word;
                note_old(fmt::format("--{}", word), fmt::format("--scope {}", word));
            },
            "");
        flag->group("")->excludes(scope);
        for (CLI::Option* const other : old) flag->excludes(other);
        old.push_back(flag);
    }
    choose_output(command, options->output, Answer::kChange);
    approval(command, options->id, options->target);
}

void CommandLine::approval(CLI::App* command, std::string& id, Target& target) {
    command->add_option("approval", id, "Its id")->type_name("APPROVAL_ID")->required();
    local(command, target);
}

void CommandLine::leases() {
    CLI::App& parent = group("leases", "See and revoke the leases of peers");
    auto [list, list_options] =
        leaf<LeasesList>(parent, "list", "List the leases that live", "  crab leases list");
    asks(list, *list_options, Answer::kList);
    auto [revoke, revoke_options] =
        leaf<LeasesRevoke>(parent, "revoke", "End a lease now", "  crab leases revoke 9f2c…");
    revoke->add_option("lease", revoke_options->lease_id, "Id of the lease")
        ->type_name("LEASE_ID")
        ->required();
    confirm(revoke, revoke_options->yes);
    asks(revoke, *revoke_options, Answer::kChange);
}

}  // namespace crab::cli

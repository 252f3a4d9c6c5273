// The only unit that includes CLI11: it is slow to compile and its types stay here.
#include "apps/crab/command_line.hpp"

#include "apps/crab/command_tree.hpp"
#include "apps/crab/durations.hpp"
#include "apps/crab/exit_codes.hpp"
#include "apps/crab/pair_flags.hpp"
#include "base/closest_name.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#ifndef CRAB_VERSION
#define CRAB_VERSION "unknown"
#endif

namespace crab::app {
namespace {

/// The whole command line; parse() leaves the chosen command in `chosen`.
class CommandLine {
public:
    CommandLine() {
        app_.name("crab");
        app_.set_version_flag("--version", "crab " CRAB_VERSION);
        app_.require_subcommand(1);
        app_.footer("Examples:\n  crab gateway run\n  crab devices pair --name phone\n  crab tools list\n"
                    "  crab call clipboard.read\n\ncrab help exit-codes lists the exit codes.");
        gateway();
        host();
        tools();
        call();
        agents();
        chat();
        calls();
        events();
        explain();
        devices();
        pair();
        peers();
        approvals();
        leases();
        artifacts();
        worktree();
        policy();
        device();
        bridge();
        tls();
        doctor();
        audit();
        backup();
        completion();
        schema();
        help();
    }

    CLI::App& app() { return app_; }
    std::optional<Command> chosen;

private:
    /// A command that runs with options of type T, which live as long as this object.
    template <class T>
    std::pair<CLI::App*, T*> leaf(CLI::App& parent, const std::string& name, const std::string& description, const std::string& examples) {
        CLI::App* command = parent.add_subcommand(name, description);
        auto options = std::make_shared<T>();
        if (!examples.empty()) command->footer("Examples:\n" + examples);
        command->callback([this, options] { chosen = *options; });
        return {command, options.get()};
    }
    CLI::App& group(const std::string& name, const std::string& description) {
        CLI::App* command = app_.add_subcommand(name, description);
        command->require_subcommand(1);
        return *command;
    }

    static void choose_output(CLI::App* command, Output& output, bool names = false) {
        std::map<std::string, Output> choices{{"text", Output::kText}, {"json", Output::kJson}};
        if (names) choices["names"] = Output::kNames;
        std::vector<std::string> words;
        for (const auto& [word, _] : choices) words.push_back(word);
        command->add_option_function<std::string>("-o,--output", [&output, choices](const std::string& word) { output = choices.at(word); },
                                                  fmt::format("Form of the output: {}", fmt::join(words, ", ")))
            ->type_name("FORM")->check(one_of(words));
    }
    /// Like CLI::IsMember, with the word that was meant, and without a place in the help.
    static CLI::Validator one_of(std::vector<std::string> words) {
        CLI::Validator validator;
        validator.operation([words](std::string& given) {
            if (std::ranges::find(words, given) != words.end()) return std::string();
            const std::string_view near = closest_name(given, words);
            return fmt::format("{} is none of {}{}", given, fmt::join(words, ", "), near.empty() ? "" : fmt::format("; did you mean {}?", near));
        });
        return validator;
    }
    static void configuration(CLI::App* command, std::filesystem::path& config) {
        command->add_option("--config", config, "Configuration file")->type_name("PATH");
    }
    static void local(CLI::App* command, Target& target) {
        command->add_option("--socket", target.socket, "Admin socket of the gateway (default: CRAB_SOCKET, then the configuration's)")->type_name("PATH");
        configuration(command, target.config);
    }
    static void remote(CLI::App* command, Target& target, const std::string& other = {}) {
        local(command, target);
        command->add_option("--url", target.url, "Call a gateway's public listener instead, such as http://127.0.0.1:42617" + other)->type_name("URL");
        secret(command, "--token", target.token, "Bearer token for --url (better: CRAB_TOKEN)");
        authorities(command, target.ca_file);
    }
    static void authorities(CLI::App* command, std::string& out) {
        command->add_option("--ca-file", out, "Authorities that may vouch for the gateway, in place of the system's (default: CRAB_CA_FILE)")->type_name("PATH")->envname("CRAB_CA_FILE");
    }
    static CLI::Option* secret(CLI::App* command, const std::string& name, Secret<std::string>& out, const std::string& description) {
        return command->add_option_function<std::string>(name, [&out](const std::string& text) { out = Secret<std::string>(text); }, description)
            ->type_name("TOKEN")->envname("CRAB_TOKEN");
    }
    template <class D>
    static void duration(CLI::App* command, const std::string& name, std::optional<D>& out, const std::string& description) {
        const auto take = [&out, name](const std::string& text) {
            const auto parsed = parse_duration(text);
            if (!parsed) throw CLI::ValidationError(name, "has to be a duration such as 500ms, 5s, 2m, 1h or 30d");
            out = std::chrono::duration_cast<D>(*parsed);
        };
        command->add_option_function<std::string>(name, take, description)->type_name("DURATION");
    }
    /// The same with a default.
    static void duration(CLI::App* command, const std::string& name, Milliseconds& out, const std::string& description) {
        const auto take = [&out, name](const std::string& text) {
            const auto parsed = parse_duration(text);
            if (!parsed) throw CLI::ValidationError(name, "has to be a duration such as 500ms, 5s, 2m, 1h or 30d");
            out = *parsed;
        };
        command->add_option_function<std::string>(name, take, description)->type_name("DURATION");
    }
    /// Repeatable, one value each time, so that what follows stays what it is.
    static void repeated(CLI::App* command, const std::string& name, std::vector<std::string>& out, const std::string& value, const std::string& description) {
        command->add_option(name, out, description)->type_name(value)->allow_extra_args(false);
    }

    void gateway() {
        CLI::App& parent = group("gateway", "Run the gateway, check its configuration");
        auto [run, run_options] = leaf<GatewayRun>(parent, "run", "Run the gateway until SIGINT or SIGTERM; SIGHUP reloads the configuration",
                                                   "  crab gateway run\n  crab gateway run --config ./gateway.yaml");
        configuration(run, run_options->config);
        run->add_flag("--system", run_options->system, "Use the paths of the system service (/etc/crab, /var/lib/crab, /run/crab)");
        auto [check, check_options] = leaf<GatewayCheck>(parent, "check", "Validate the configuration and report every problem",
                                                         "  crab gateway check\n  crab gateway check --schema > config.schema.json");
        configuration(check, check_options->config);
        check->add_flag("--schema", check_options->schema, "Print the configuration's JSON Schema instead");
        choose_output(check, check_options->output);
    }

    void host() {
        CLI::App& parent = group("host", "Run a built-in tool host as a process of its own");
        const auto add = [&](HostKind kind, const std::string& what) {
            const std::string name(name_of(kind));
            const std::string start = "  crab host " + name + (kind == HostKind::kExec ? " --config commands.yaml" : "");
            auto [command, options] = leaf<RunHost>(parent, name, what,
                                                    start + " --unix /run/crab/" + name + ".sock\n" + start + " --listen 0.0.0.0:7443 --id " + name + "-east --gateway-key \"$KEY\"");
            options->kind = kind;
            CLI::Option* const local = command->add_option("--unix", options->socket,
                                                           "Socket to listen on, for the same user; name it under hosts: in the gateway's configuration");
            CLI::Option* const remote = command->add_option("--listen", options->listen,
                                                            "Address to listen on with mutual TLS, for the gateway that pairs with it (crab pair tool)");
            local->type_name("PATH")->excludes(remote);
            remote->type_name("HOST:PORT");
            command->add_option("--id", options->component_id, "Its id as a peer, with --listen (default: " + name + ")")->type_name("ID")->needs(remote);
            command->add_option("--gateway-key", options->gateway_key, "The only gateway that may pair, as crab peers identity prints it; needed with --listen")
                ->type_name("B64")
                ->needs(remote);
            command->add_option("--pair-path", options->pair_path, "Where it is paired, beside / (default: /v1/pair)")->type_name("PATH")->needs(remote);
            CLI::Option* const ca = command->add_option("--tls-ca", options->tls_ca, "Operator-made CA: only who has a certificate of it may pair");
            CLI::Option* const cert = command->add_option("--tls-cert", options->tls_cert, "Certificate of that CA, which the host shows until it is paired");
            CLI::Option* const key = command->add_option("--tls-key", options->tls_key, "Key of that certificate");
            for (CLI::Option* const one : {ca, cert, key}) one->type_name("FILE")->needs(remote)->needs(ca)->needs(cert)->needs(key);
            if (kind == HostKind::kCron) {
                command->add_option("--events-to", options->events_to, "Gateway that takes what jobs fire: unix:/PATH of its admin socket, or https://HOST:PORT of its peer listener (default: events wait)")
                    ->type_name("URL");
            }
            if (kind == HostKind::kExec) {
                command->add_option("--config", options->config, "Configuration in the gateway's form, of which worktrees and providers count")->type_name("FILE")->required();
            }
            command->add_option("--state", options->state_dir, "Folder for its databases (default: hosts/" + name + " in crab's state directory)")
                ->type_name("DIR");
        };
        add(HostKind::kMemory, "Remember and search: memory.append, memory.query, memory.delete");
        add(HostKind::kCron, "Keep and fire scheduled jobs: cron.create, cron.list, cron.remove; their events wait in its store");
        add(HostKind::kExec, "Run configured commands, each call in a sandbox: the providers of kind command of a configuration");
    }

    void tools() {
        CLI::App& parent = group("tools", "See which tools can be called");
        auto [list, list_options] = leaf<ToolsList>(parent, "list", "List the tools", "  crab tools list\n  crab tools list -o json | jq '.tools[].name'");
        remote(list, list_options->target);
        choose_output(list, list_options->output, true);
        auto [show, show_options] = leaf<ToolsShow>(parent, "show", "Show one tool with its arguments", "  crab tools show sms.send");
        show->add_option("tool", show_options->tool, "Name of the tool")->type_name("TOOL")->required();
        remote(show, show_options->target);
        choose_output(show, show_options->output);
        auto [cost, cost_options] = leaf<ToolsCost>(parent, "cost", "Show how many tokens each tool costs a model, and what it would be given", "  crab tools cost\n  crab tools cost --agent butler");
        cost->add_option("--agent", cost_options->agent, "Whose model")->type_name("NAME")->capture_default_str();
        local(cost, cost_options->target);
        choose_output(cost, cost_options->output);
    }

    void agents() {
        CLI::App& parent = group("agents", "See the agents, and the turns that events have started");
        auto [list, list_options] = leaf<AgentsList>(parent, "list", "List the agents with their models, events and tools", "  crab agents list");
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [turns, turns_options] = leaf<AgentsList>(parent, "turns", "List the latest turns that events have started", "  crab agents turns");
        turns_options->turns = true;
        local(turns, turns_options->target);
        choose_output(turns, turns_options->output);
        auto [show, show_options] = leaf<AgentsShow>(parent, "show", "Show what was said in a turn that an event has started", "  crab agents show 0192f0c1-…");
        show->add_option("turn", show_options->turn_id, "Id of the turn")->type_name("TURN_ID")->required();
        local(show, show_options->target);
        choose_output(show, show_options->output);
    }

    void chat() {
        auto [command, options] = leaf<Chat>(app_, "chat", "Chat with the gateway's model, which may use your tools; Ctrl-C cancels an answer",
                                             "  crab chat\n  crab chat --session kitchen-7\n  crab chat --once 'Which devices are connected?'\n"
                                             "  git diff | crab chat --once - > review.txt");
        command->add_option("--once", options->once, "Ask this, print the answer and end; - reads the question from standard input")->type_name("TEXT");
        command->add_option("--session", options->session, "Chat session to go on with or to begin (default: a new one)")->type_name("ID");
        command->add_option("--agent", options->agent, "Agent of a chat session that begins (default: the standard one)")->type_name("NAME");
        remote(command, options->target);
        choose_output(command, options->output);
    }

    void call() {
        auto [command, options] = leaf<CallTool>(app_, "call", "Call a tool and print its result; Ctrl-C cancels the call",
                                                 "  crab call clipboard.read\n  crab call sms.send '{\"to\":\"+4930123\",\"text\":\"hi\"}'\n"
                                                 "  crab call sms.send --arg to=+4930123 --arg text=hi\n  crab call report.make @args.json --timeout 2m --stream\n"
                                                 "  echo '{\"n\":3}' | crab call dice.roll -\n"
                                                 "  crab call --url grpc://127.0.0.1:50063 read_file --arg path=notes.md --policy network=DENY_ALL --policy cpu=500ms --summary");
        command->add_option("tool", options->tool, "Name of the tool")->type_name("TOOL")->required();
        command->add_option("arguments", options->args, "Arguments: a JSON object, @FILE, or - for standard input")->type_name("JSON");
        repeated(command, "--arg", options->arg, "KEY=VALUE", "One argument, repeatable; the value is JSON if it reads as JSON, else a string; KEY:=JSON insists on JSON");
        duration(command, "--timeout", options->timeout, "Longest wait (default: the tool's)");
        duration(command, "--away-wait", options->away_wait, "Wait so long, 2m at most, for a device that is away, if the tool only reads (default: fail at once)");
        command->add_flag("--stream", options->stream, "Print parts of the result as they come");
        command->add_option("--idempotency-key", options->idempotency_key, "A repeat with this key does not run the tool again")->type_name("KEY");
        command->add_option("--call-id", options->call_id, "Id of the call (default: a new one)")->type_name("ID");
        command->add_option("--tenant", options->tenant, "Tenant the call acts for")->type_name("NAME")->capture_default_str();
        command->add_option("--agent", options->agent, "Agent in the call's context")->type_name("NAME")->capture_default_str();
        command->add_option("--session", options->session, "Session in the call's context")->type_name("NAME")->capture_default_str();
        repeated(command, "--policy", options->policy, "FIELD=VALUE",
                 "With --url grpc://…: the execution policy, repeatable; network, privilege, cpu, wall, retries, backoff, or worktree alone");
        command->add_flag("--summary", options->summary, "With --url grpc://…: say afterwards what the call used, and under which policy");
        remote(command, options->target, " or grpc://127.0.0.1:50063");
        choose_output(command, options->output);
    }

    void calls() {
        CLI::App& parent = group("calls", "See and cancel calls");
        auto [list, list_options] = leaf<CallsList>(parent, "list", "List running and recent calls", "  crab calls list\n  crab calls list --limit 100");
        list->add_option("--limit", list_options->limit, "How many recent calls")->type_name("N")->check(CLI::Range(1, 10000))->capture_default_str();
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [show, show_options] = leaf<CallsShow>(parent, "show", "Show the record of one call", "  crab calls show 0192f0c1-…");
        show->add_option("call", show_options->call_id, "Id of the call")->type_name("CALL_ID")->required();
        local(show, show_options->target);
        choose_output(show, show_options->output);
        auto [cancel, cancel_options] = leaf<CallsCancel>(parent, "cancel", "Cancel a running call", "  crab calls cancel 0192f0c1-…");
        cancel->add_option("call", cancel_options->call_id, "Id of the call")->type_name("CALL_ID")->required();
        local(cancel, cancel_options->target);
    }

    void events() {
        CLI::App& parent = group("events", "See what happens");
        auto [tail, options] = leaf<EventsTail>(parent, "tail", "Show events as they come; Ctrl-C ends it",
                                                "  crab events tail\n  crab events tail --types 'tool.call.*,cron.*' --from earliest\n"
                                                "  crab events tail --types cron.triggered --count 1 --json");
        tail->add_option("--types", options->types, "Only these types: names or globs, separated by commas")->type_name("TYPES");
        tail->add_option("--from", options->from, "Begin after this cursor, or with the oldest event: earliest (default: what comes next)")->type_name("CURSOR");
        tail->add_option("--count", options->count, "End after so many events")->type_name("N")->check(CLI::PositiveNumber);
        tail->add_flag_callback("--json", [out = &options->output] { *out = Output::kJson; }, "One JSON object per line, with its cursor; the same as -o json");
        local(tail, options->target);
        choose_output(tail, options->output);
        auto [forward, forward_options] = leaf<EventsForward>(parent, "forward", "Post events to a webhook, each until it is taken; goes on where it ended",
                                                              "  crab events forward http://127.0.0.1:8090/v1/events --types agent.response.created");
        forward->add_option("webhook", forward_options->webhook, "Where each event is posted; 2xx takes it, other 4xx than 408 and 429 leave it out")->type_name("URL")->required();
        forward->add_option("--types", forward_options->types, "Only these types: names or globs, separated by commas")->type_name("TYPES");
        forward->add_option("--subscription", forward_options->subscription, "Name of the position that the gateway keeps; one for each webhook")->type_name("NAME")->capture_default_str();
        forward->add_option("--from", forward_options->from, "Begin after this cursor, or with the oldest event: earliest (default: where it ended, else what comes next)")->type_name("CURSOR");
        forward->add_option("--count", forward_options->count, "End after so many events")->type_name("N")->check(CLI::PositiveNumber);
        local(forward, forward_options->target);
    }

    void explain() {
        auto [command, options] = leaf<Explain>(app_, "explain", "Tell what happened to a call: who, which rule, hooks, attempts, times",
                                                "  crab explain 0192f0c1-…");
        command->add_option("call", options->call_id, "Id of the call")->type_name("CALL_ID")->required();
        local(command, options->target);
        choose_output(command, options->output);
    }

    void devices() {
        CLI::App& parent = group("devices", "Pair devices, list and revoke them");
        auto [list, list_options] = leaf<DevicesList>(parent, "list", "List the devices and their tokens", "  crab devices list");
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [pair, pair_options] = leaf<DevicesPair>(parent, "pair", "Make a pairing code, or a token at once",
                                                      "  crab devices pair --name phone --qr\n  crab devices pair --token --name ci --role caller --expires 30d > token");
        pair->add_option("--name", pair_options->name, "Name of the device")->type_name("NAME");
        pair->add_option("--role", pair_options->roles, "Roles, separated by commas: device, caller, operator, …")->type_name("ROLES")->delimiter(',')->allow_extra_args(false);
        duration(pair, "--expires", pair_options->expires, "How long the code, or the token, is valid");
        pair->add_flag("--token", pair_options->token, "Print a token instead of a code, and nothing else");
        pair->add_flag("--qr", pair_options->qr, "Show a QR code that opens the device page with the code, for the camera of a phone");
        pair->add_option("--page", pair_options->page, "Address of the device page in that QR code, when the gateway does not know its own, such as https://home.example/device/")
            ->type_name("URL");
        local(pair, pair_options->target);
        choose_output(pair, pair_options->output);
        auto [approve, approve_options] = leaf<DevicesApprove>(parent, "approve", "Take in tools that a known device has added (configuration: approvals.new_tools)",
                                                               "  crab devices approve phone\n  crab devices approve phone sms.send");
        approve->add_option("device", approve_options->device, "The device")->type_name("DEVICE")->required();
        approve->add_option("tools", approve_options->tools, "Names of tools (default: all that wait)")->type_name("TOOL");
        local(approve, approve_options->target);
        auto [revoke, revoke_options] = leaf<DevicesRevoke>(parent, "revoke", "Revoke a device with all its tokens, or one token",
                                                            "  crab devices revoke phone\n  crab devices revoke --token-id tok_1");
        CLI::Option* name = revoke->add_option("device", revoke_options->device, "Device")->type_name("DEVICE");
        revoke->add_option("--token-id", revoke_options->token_id, "One token, by its id")->type_name("ID")->excludes(name);
        local(revoke, revoke_options->target);
    }

    /// What every `crab pair` takes.
    template <class T>
    static void pairing(CLI::App* command, T& options) {
        command->add_option("--admin-socket,--socket", options.target.socket, "Admin socket of the gateway (default: CRAB_SOCKET, then the configuration's)")
            ->type_name("PATH");
        configuration(command, options.target.config);
        duration(command, "--timeout", options.timeout, "Longest wait (default: 20s)");
        command->add_flag("--replace", options.replace, "Whatever was known of this name or endpoint does not count; its certificate is revoked");
    }

    void pair() {
        CLI::App& parent = group("pair", "Pair the gateway with tool hosts, subscribers and operators");
        auto [test, test_options] = leaf<PairTest>(parent, "test", "Pair with a remote that this command plays, to see that pairing works",
                                                   "  crab pair test\n  crab pair test --component-id probe");
        test->add_option("--gateway-public-key", test_options->gateway_public_key, "Key of the gateway that may pair (default: the gateway is asked)")->type_name("B64");
        test->add_option("--component-id", test_options->component_id, "Id of the tool host that is played (default: the host's name)")->type_name("ID");
        test->add_option("--listen-addr", test_options->listen_address, "Where it listens, on loopback; 127.0.0.1:0 alone will do")->type_name("URL")->capture_default_str();
        test->add_option("--listen-path", test_options->listen_path, "Path of the WebSocket there (default: that of --listen-addr)")->type_name("PATH");
        pairing(test, *test_options);
        const auto add = [&](const std::string& word, const std::string& type, const std::string& what, const std::string& example) {
            auto [command, options] = leaf<PairRemote>(parent, word, "Pair with " + what, "  crab pair " + word + " " + example);
            options->component_type = type;
            command->add_option("endpoint", options->endpoint, "Where the remote waits: wss://host:port, ws:// on loopback")->type_name("ENDPOINT")->required();
            command->add_option("name", options->name, "Its component id")->type_name("NAME")->required();
            command->add_option("--remote-key", options->remote_key, "The remote_key= that the remote prints at its start; any other is refused")->type_name("B64");
            pairing(command, *options);
        };
        add("tool", "tool_host", "a tool host", "wss://tools.example:7443 memory");
        add("subscriber", "subscriber", "a subscriber of events", "wss://log.example:7443 log");
        add("cli", "operator", "an operator's command line", "wss://desk.example:7443 desk");
    }

    void peers() {
        CLI::App& parent = group("peers", "See and manage paired peers");
        auto [list, list_options] = leaf<PeersList>(parent, "list", "List the peers", "  crab peers list");
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [show, show_options] = leaf<PeersShow>(parent, "show", "Show one peer", "  crab peers show tool_host/memory");
        peer(show, show_options->peer, show_options->target);
        choose_output(show, show_options->output);
        auto [renew, renew_options] = leaf<PeersRenew>(parent, "renew", "Give a peer a new certificate now", "  crab peers renew tool_host/memory");
        peer(renew, renew_options->peer, renew_options->target);
        auto [revoke, revoke_options] = leaf<PeersRevoke>(parent, "revoke", "Revoke a peer for good", "  crab peers revoke tool_host/memory --reason lost");
        peer(revoke, revoke_options->peer, revoke_options->target);
        revoke->add_option("--reason", revoke_options->reason, "Why, for the record")->type_name("TEXT");
        const auto add = [&](const std::string& word, const std::string& status, const std::string& what) {
            auto [command, options] = leaf<PeersSetStatus>(parent, word, what, "  crab peers " + word + " tool_host/memory");
            options->status = status;
            peer(command, options->peer, options->target);
        };
        add("enable", "active", "Use a peer again that was put aside");
        add("disable", "inactive", "Put a peer aside; its record stays");
        auto [identity, identity_options] = leaf<PeersIdentity>(parent, "identity", "Print the gateway's own id, key and authority, for the remotes' configuration",
                                                                "  crab peers identity");
        local(identity, identity_options->target);
        choose_output(identity, identity_options->output);
    }
    static void peer(CLI::App* command, std::string& name, Target& target) {
        command->add_option("peer", name, "Type and id, such as tool_host/memory")->type_name("PEER")->required();
        local(command, target);
    }

    void approvals() {
        CLI::App& parent = group("approvals", "See and decide which calls may run");
        auto [list, list_options] = leaf<ApprovalsList>(parent, "list", "List the calls that wait for a decision", "  crab approvals list\n  crab approvals list --all");
        list->add_flag("--all", list_options->all, "Also those that ended in the last minutes; most of them can still be allowed for a repeat");
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [show, show_options] = leaf<ApprovalsShow>(parent, "show", "Show one with its arguments", "  crab approvals show 5f0c9a3be214");
        approval(show, show_options->id, show_options->target);
        choose_output(show, show_options->output);
        decide(parent, "allow", "Let the call run", true, "  crab approvals allow 5f0c9a3be214\n  crab approvals allow 5f0c9a3be214 --session");
        decide(parent, "deny", "Refuse the call", false, "  crab approvals deny 5f0c9a3be214\n  crab approvals deny 5f0c9a3be214 --always");
        auto [watch, watch_options] = leaf<ApprovalsWatch>(parent, "watch", "Follow the questions; while this runs, calls wait instead of being refused",
                                                           "  crab approvals watch\n  crab approvals watch --ask");
        watch->add_flag("--ask", watch_options->ask, "Decide each at this terminal");
        local(watch, watch_options->target);
        choose_output(watch, watch_options->output);
        auto [remembered, remembered_options] = leaf<ApprovalsRemembered>(parent, "remembered", "List the decisions that hold for calls to come", "  crab approvals remembered");
        local(remembered, remembered_options->target);
        choose_output(remembered, remembered_options->output);
        auto [forget, forget_options] = leaf<ApprovalsForget>(parent, "forget", "Withdraw a remembered decision", "  crab approvals forget 5f0c9a3be214");
        approval(forget, forget_options->id, forget_options->target);
    }
    void decide(CLI::App& parent, const std::string& name, const std::string& description, bool allow, const std::string& examples) {
        auto [command, options] = leaf<ApprovalsDecide>(parent, name, description, examples);
        options->allow = allow;
        if (allow) command->alias("grant");  // sw4rm's word
        const auto scope = [&](const std::string& word, const std::string& help) {
            return command->add_flag_callback("--" + word, [options, word] { options->scope = word; }, help);
        };
        CLI::Option* const once = scope("once", "This call only (the default)");
        CLI::Option* const session = scope("session", "Such calls of its session")->excludes(once);
        scope("always", "Such calls of its principal, until `crab approvals forget`")->excludes(once)->excludes(session);
        approval(command, options->id, options->target);
    }
    static void approval(CLI::App* command, std::string& id, Target& target) {
        command->add_option("approval", id, "Its id")->type_name("APPROVAL_ID")->required();
        local(command, target);
    }

    void leases() {
        CLI::App& parent = group("leases", "See and revoke the leases of peers");
        auto [list, list_options] = leaf<LeasesList>(parent, "list", "List the leases that live", "  crab leases list");
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [revoke, revoke_options] = leaf<LeasesRevoke>(parent, "revoke", "End a lease now", "  crab leases revoke 9f2c…");
        revoke->add_option("lease", revoke_options->lease_id, "Id of the lease")->type_name("LEASE_ID")->required();
        local(revoke, revoke_options->target);
    }

    void artifacts() {
        CLI::App& parent = group("artifacts", "List, fetch and delete large results");
        auto [list, list_options] = leaf<ArtifactsList>(parent, "list", "List the large results that are kept", "  crab artifacts list");
        local(list, list_options->target);
        choose_output(list, list_options->output);
        auto [get, get_options] = leaf<ArtifactsGet>(parent, "get", "Fetch one into a file and check its hash", "  crab artifacts get 9f2c… --to photo.jpg");
        get->add_option("artifact", get_options->id, "Its id")->type_name("ARTIFACT")->required();
        get->add_option("--to", get_options->file, "Where to; - is standard output [the id, in this folder]")->type_name("FILE");
        local(get, get_options->target);
        auto [remove, remove_options] = leaf<ArtifactsDelete>(parent, "delete", "Delete one now", "  crab artifacts delete 9f2c…");
        remove->add_option("artifact", remove_options->id, "Its id")->type_name("ARTIFACT")->required();
        local(remove, remove_options->target);
    }

    void worktree() {
        CLI::App& parent = group("worktree", "Say in which worktree the commands of a caller work");
        auto [bind, bind_options] = leaf<WorktreeBind>(parent, "bind", "Bind a principal or an agent to a worktree, for good", "  crab worktree bind caller/ci garden/main");
        bind->add_option("who", bind_options->who, "The principal, such as caller/ci, or an agent's id")->type_name("WHO")->required();
        bind->add_option("worktree", bind_options->worktree, "Its id in the gateway's configuration")->type_name("REPO/WORKTREE")->required();
        local(bind, bind_options->target);
        auto [unbind, unbind_options] = leaf<WorktreeBind>(parent, "unbind", "End a binding", "  crab worktree unbind caller/ci");
        unbind->add_option("who", unbind_options->who, "Who was bound")->type_name("WHO")->required();
        local(unbind, unbind_options->target);
        auto [status, status_options] = leaf<WorktreeStatus>(parent, "status", "List the worktrees and who is bound to them", "  crab worktree status");
        local(status, status_options->target);
        choose_output(status, status_options->output);
    }

    void policy() {
        CLI::App& parent = group("policy", "Ask what the policy says");
        auto [test, options] = leaf<PolicyTest>(parent, "test", "Tell whether a principal may do something, and by which rule; exit code 0 if it may, else 4",
                                                "  crab policy test --as subscriber/log events.subscribe:cron.triggered --tenant harbour\n"
                                                "  crab policy test --as caller/ci call disk_usage --args '{\"path\":\"/root\"}'\n"
                                                "  crab policy test --as device/phone register shell_date\n"
                                                "  crab policy test --as subscriber/log events.subscribe:cron.triggered --lease 9f2c…");
        test->add_option("question", options->question, "An action such as events.subscribe:cron.triggered, or call TOOL, or register TOOL")
            ->type_name("QUESTION")->required()->expected(1, 2);
        test->add_option("--as", options->as, "The principal, such as subscriber/log, caller/ci or device/phone")->type_name("PRINCIPAL")->required();
        test->add_option("--role", options->roles, "Its roles, separated by commas (default: those that such a principal has)")->type_name("ROLES")->delimiter(',')->allow_extra_args(false);
        test->add_option("--tenant", options->tenant, "For which tenant (default: none in particular)")->type_name("NAME");
        test->add_option("--agent", options->agent, "For which agent, where a lease names one")->type_name("NAME");
        test->add_option("--session", options->session, "In which session, where a lease names one")->type_name("NAME");
        test->add_option("--lease", options->lease, "Under this lease; asks the running gateway")->type_name("LEASE_ID");
        test->add_option("--args", options->args, "Arguments of the call: a JSON object, @FILE, or - (default: whichever they may be)")->type_name("JSON");
        test->add_option("--source", options->source, "Where the tool comes from, such as device/phone, for rules that name sources")->type_name("SOURCE");
        local(test, options->target);
        choose_output(test, options->output);
    }

    void device() {
        auto [command, options] = leaf<Device>(app_, "device", "Serve commands of this machine as tools of a gateway",
                                               "  crab device --pair 123456 --name laptop --exec uptime=uptime\n  crab device --token-file token --exec 'disk.free=df -h'");
        DeviceOptions& device = options->options;
        command->add_option("--gateway", device.gateway, "Address of the gateway")->type_name("URL")->capture_default_str();
        secret(command, "--token", device.token, "Bearer token (better: --token-file or CRAB_TOKEN)");
        command->add_option("--token-file", options->token_file, "File that holds the token")->type_name("PATH");
        authorities(command, device.ca_file);
        command->add_option("--pair", device.pair_code, "Pair with this code first")->type_name("CODE");
        command->add_option("--name", device.name, "Name for people (default: the host's name)")->type_name("NAME");
        repeated(command, "--exec", options->exec, "NAME=COMMAND", "A tool that runs a command (split as a shell would, without expansion), repeatable; arguments come as JSON on its standard input");
        command->add_option("--state", device.state_file, "File that keeps the token after pairing")->type_name("PATH");
        command->add_option("--session-id", device.session_id, "Session to resume")->type_name("ID");
        command->add_flag("--once", device.once, "End with the first connection instead of reconnecting");
    }

    void bridge() {
        CLI::App& parent = group("bridge", "Offer the apps of this machine to a gateway (CETP)");
        auto [run, run_options] = leaf<BridgeRun>(parent, "run", "Find apps with tools and register them as one device, until Ctrl-C",
                                                  "  crab bridge run --pair 1234-5678-9012\n  crab bridge run --token-file token --name laptop");
        run->add_option("--gateway", run_options->gateway, "Address of the gateway")->type_name("URL")->capture_default_str();
        secret(run, "--token", run_options->token, "Bearer token (better: --token-file or CRAB_TOKEN)");
        run->add_option("--token-file", run_options->token_file, "File that holds the token, and keeps the one that pairing gives")->type_name("PATH");
        authorities(run, run_options->ca_file);
        run->add_option("--pair", run_options->pair_code, "Pair with this code first")->type_name("CODE");
        run->add_option("--name", run_options->name, "Name for people (default: the host's name)")->type_name("NAME");
        auto [list, list_options] = leaf<BridgeList>(parent, "list", "List the providers that this machine declares; starts none", "  crab bridge list");
        choose_output(list, list_options->output);
        auto [status, status_options] = leaf<BridgeStatusShow>(parent, "status", "Show the running bridge, its providers, and who wants you to act", "  crab bridge status");
        choose_output(status, status_options->output);
        for (const bool yes : {true, false}) {
            auto [command, options] = leaf<BridgeEnable>(parent, yes ? "enable" : "disable", yes ? "Allow a provider, with what it wishes for" : "Keep a provider's tools to itself",
                                                         yes ? "  crab bridge enable org.example.Ledger" : "  crab bridge disable org.example.Ledger");
            options->yes = yes;
            command->add_option("provider", options->provider, "Id of the provider")->type_name("PROVIDER")->required();
        }
        auto [call, call_options] = leaf<BridgeCall>(parent, "call", "Call a tool of a provider directly, without bridge and gateway",
                                                     "  crab bridge call org.example.Ledger\n  crab bridge call org.example.Ledger balance '{\"account\":\"cash\"}'");
        call->add_option("provider", call_options->provider, "Id of the provider")->type_name("PROVIDER")->required();
        call->add_option("tool", call_options->tool, "Its tool; without one its list of tools is printed")->type_name("NAME");
        call->add_option("args", call_options->args, "Arguments, a JSON object")->type_name("JSON");
        duration(call, "--timeout", call_options->timeout, "How long to wait (default: 30s)");
    }

    void tls() {
        CLI::App& parent = group("tls", "Certificates for the public listener");
        auto [command, options] = leaf<TlsInit>(parent, "init", "Make a certificate for this machine's names, or check one, and say what to configure",
                                                "  crab tls init\n  crab tls init --name home.example --name 192.168.1.5\n  crab tls init --cert fullchain.pem --key key.pem");
        repeated(command, "--name", options->names, "NAME", "A host name or address of the gateway, repeatable (default: this machine's names and addresses)");
        command->add_option("--dir", options->directory, "Folder for the files (default: tls in the state directory)")->type_name("DIR");
        CLI::Option* const cert = command->add_option("--cert", options->cert, "A certificate that is there already, its chain behind it: nothing is made")->type_name("FILE");
        cert->excludes("--name")->excludes("--dir");
        command->add_option("--key", options->key, "Its key")->type_name("FILE");
        configuration(command, options->config);
        command->add_flag("--system", options->system, "For the system service");
        choose_output(command, options->output);
    }

    void doctor() {
        auto [command, options] = leaf<Doctor>(app_, "doctor", "Check configuration, directories, socket, listeners and limits", "  crab doctor\n  crab doctor -o json");
        local(command, options->target);
        command->add_flag("--system", options->system, "Check the system service");
        choose_output(command, options->output);
    }

    static void of_gateway(CLI::App* command, std::filesystem::path& config, bool& system) {
        configuration(command, config);
        command->add_flag("--system", system, "Those of the system service");
    }

    void audit() {
        CLI::App& parent = group("audit", "Check and read the audit records, whether the gateway runs or not");
        auto [verify, verify_options] =
            leaf<AuditVerify>(parent, "verify", "Check that no record was changed or cut out", "  crab audit verify\n  crab audit verify --system -o json");
        of_gateway(verify, verify_options->config, verify_options->system);
        choose_output(verify, verify_options->output);
        auto [read, read_options] =
            leaf<AuditExport>(parent, "export", "Print the records, oldest first, one JSON object a line", "  crab audit export --since 1d > yesterday.jsonl");
        of_gateway(read, read_options->config, read_options->system);
        duration(read, "--since", read_options->since, "How far back [all that is kept]");
    }

    void backup() {
        auto [command, options] =
            leaf<Backup>(app_, "backup", "Copy the gateway's state into a new folder, whether it runs or not", "  crab backup ~/crab-2026-05-01");
        command->add_option("to", options->to, "The folder to make")->type_name("DIR")->required();
        of_gateway(command, options->config, options->system);
        choose_output(command, options->output);
    }

    void completion() {
        auto [command, options] = leaf<Completion>(app_, "completion", "Print a completion script",
                                                   "  crab completion bash > ~/.local/share/bash-completion/completions/crab\n"
                                                   "  crab completion zsh > \"${fpath[1]}/_crab\"\n  crab completion fish > ~/.config/fish/completions/crab.fish");
        command->add_option("shell", options->shell, "bash, zsh or fish")->type_name("SHELL")->required()->check(one_of({"bash", "zsh", "fish"}));
    }

    void schema() {
        CLI::App& parent = group("schema", "Check JSON against a JSON Schema");
        auto [check, check_options] = leaf<SchemaCheck>(parent, "check", "Check one instance; prints the errors as JSON", "  crab schema check schema.json instance.json");
        check->add_option("schema", check_options->schema, "The schema")->type_name("PATH")->required();
        check->add_option("instance", check_options->instance, "The JSON to check, - for standard input")->type_name("PATH")->required();
        auto [suite, suite_options] = leaf<SchemaSuite>(parent, "suite", "Run a directory of the JSON Schema test suite", "  crab schema suite tests/draft2020-12 --remotes remotes");
        suite->add_option("directory", suite_options->directory, "Directory with the suite's files")->type_name("DIR")->required();
        suite->add_option("--remotes", suite_options->remotes, "Directory that http://localhost:1234/ stands for")->type_name("DIR");
    }

    void help() {
        auto [command, options] = leaf<Help>(app_, "help", "Show the help of a command, or the exit codes", "  crab help call\n  crab help exit-codes");
        command->add_option("topic", options->topic, "A command, or exit-codes")->type_name("TOPIC");
        command->add_flag("--markdown", options->markdown, "Print docs/reference/cli.md")->group("");
    }

    CLI::App app_{"A gateway for remote tools"};
};

/// The deepest command that the arguments chose.
CLI::App& deepest(CLI::App& app) {
    for (CLI::App* command : app.get_subcommands()) return deepest(*command);
    return app;
}

std::string full_name(const CLI::App& app) {
    return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::string help_text(const CLI::App& app) {
    const std::string text = app.help(app.get_parent() ? full_name(*app.get_parent()) : "");
    return text.ends_with('\n') ? text : text + '\n';
}

std::vector<CLI::App*> visible_commands(CLI::App& app) {
    return app.get_subcommands([](CLI::App* command) { return !command->get_group().empty(); });
}

/// What was probably meant by the first word that the parser did not know; empty when nothing is near.
std::string meant(CLI::App& app, const std::string& word) {
    std::vector<std::string> known;
    if (word.starts_with("-")) {
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
        }
    } else {
        for (CLI::App* command : visible_commands(app)) known.push_back(command->get_name());
    }
    return std::string(closest_name(word.substr(0, word.find('=')), known));
}

Printed usage_error(CommandLine& line, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    CLI::App& app = deepest(line.app());
    std::vector<std::string> unknown = app.remaining(false);
    if (unknown.empty()) unknown = line.app().remaining(true);
    if (unknown.empty() && !visible_commands(app).empty()) {
        // A group that got a word it does not know: CLI11 only says that a subcommand is missing.
        for (const std::string& argument : arguments) {
            if (!argument.starts_with('-') && argument != app.get_name() && full_name(app).find(argument) == std::string::npos) unknown.push_back(argument);
        }
    }
    std::string text;
    if (!unknown.empty()) {
        const std::string near = meant(app, unknown[0]);
        const std::string_view kind = unknown[0].starts_with("-") ? "option" : visible_commands(app).empty() ? "argument" : "command";
        text = fmt::format("crab: unknown {} {}{}", kind, unknown[0], near.empty() ? "" : fmt::format("; did you mean {}?", near));
    } else if (!visible_commands(app).empty()) {
        std::vector<std::string> names;
        for (CLI::App* command : visible_commands(app)) names.push_back(command->get_name());
        text = fmt::format("crab: {} needs a command: {}", full_name(app), fmt::join(names, ", "));
    } else {
        text = fmt::format("crab: {}", error.what());
    }
    return {fmt::format("{}\nTry: {} --help\n", text, full_name(app)), kExitUsage};
}

ValueKind kind_of(const CLI::Option& option) {
    const std::string value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    if (option.get_type_size() == 0) return ValueKind::kNone;
    if (value == "PATH") return ValueKind::kFile;
    if (value == "DIR") return ValueKind::kDirectory;
    if (value == "TOOL") return ValueKind::kTool;
    if (value == "CALL_ID") return ValueKind::kCall;
    if (value == "DEVICE") return ValueKind::kDevice;
    if (value == "FORM" || value == "SHELL") return ValueKind::kChoice;
    return ValueKind::kText;
}

OptionNode node_of(const CLI::Option& option) {
    OptionNode node;
    if (!option.get_lnames().empty()) node.long_name = option.get_lnames()[0];
    if (!option.get_snames().empty()) node.short_name = option.get_snames()[0][0];
    node.kind = kind_of(option);
    if (node.kind != ValueKind::kNone) node.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    node.description = option.get_description();
    if (node.value == "FORM") node.choices = {"text", "json"};
    if (node.value == "SHELL") node.choices = {"bash", "zsh", "fish"};
    return node;
}

CommandNode node_of(CLI::App& app) {
    CommandNode node{.name = app.get_name(), .description = app.get_description(), .path = full_name(app), .examples = app.get_footer()};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        (option->get_positional() ? node.positionals : node.options).push_back(node_of(*option));
    }
    for (CLI::App* command : visible_commands(app)) node.commands.push_back(node_of(*command));
    return node;
}

}  // namespace

std::variant<Command, Printed> parse_command_line(std::span<const char* const> arguments) {
    CommandLine line;
    const std::vector<std::string> words = pair_flags_last(arguments);
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
        line.app().parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return Printed{help_text(deepest(line.app())), kExitOk};
    } catch (const CLI::CallForVersion& version) {
        return Printed{std::string(version.what()) + "\n", kExitOk};
    } catch (const CLI::ParseError& error) {
        return usage_error(line, error, words);
    }
    return std::move(*line.chosen);
}

Printed help_of(const std::vector<std::string>& path) {
    CommandLine line;
    CLI::App* app = &line.app();
    for (const std::string& name : path) {
        const std::vector<CLI::App*> next = app->get_subcommands([&](CLI::App* command) { return command->get_name() == name; });
        if (next.empty()) {
            const std::string near = meant(*app, name);
            return {fmt::format("crab: no help for {}{}\n", name, near.empty() ? "" : fmt::format("; did you mean {}?", near)), kExitUsage};
        }
        app = next[0];
    }
    return {help_text(*app), kExitOk};
}

CommandNode command_tree() {
    CommandLine line;
    return node_of(line.app());
}

}  // namespace crab::app

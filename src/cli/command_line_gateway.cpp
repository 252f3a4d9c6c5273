#include "cli/command_grammar.hpp"

namespace crab::cli {

void CommandLine::gateway() {
    CLI::App& parent =
        group("gateway", "Run, look at, reload and stop the gateway; check its configuration");
    auto [run, run_options] = leaf<GatewayRun>(
        parent, "run", "Run the gateway until SIGINT or SIGTERM; SIGHUP reloads the configuration",
        "  crab gateway run\n  crab gateway run --config ./gateway.yaml");
    configuration(run, run_options->config);
    run->add_flag("--system", run_options->system,
                  "Use the paths of the system service (/etc/crab, /var/lib/crab, /run/crab)");
    auto [check, check_options] = leaf<GatewayCheck>(
        parent, "check", "Validate the configuration and report every problem",
        "  crab gateway check\n  crab gateway check --schema > config.schema.json");
    configuration(check, check_options->config);
    check->add_flag("--schema", check_options->schema,
                    "Print the configuration's JSON Schema instead");
    choose_output(check, check_options->output);
    control(parent);
}

void CommandLine::control(CLI::App& parent) {
    auto [status, status_options] =
        leaf<GatewayStatus>(parent, "status", "Show whether the gateway runs, where, and how it is",
                            "  crab gateway status\n  crab gateway status -q && echo it runs");
    remote(status, status_options->target);
    choose_output(status, status_options->output, Answer::kChange);
    auto [stop, stop_options] =
        leaf<GatewayStop>(parent, "stop", "Stop the gateway of this machine, and wait for its end",
                          "  crab gateway stop\n  crab gateway stop --timeout 2m");
    duration(stop, "--timeout", stop_options->timeout, "How long to wait (default: 30s)");
    asks(stop, *stop_options, Answer::kChange);
    auto [reload, reload_options] =
        leaf<GatewayReload>(parent, "reload", "Have the gateway read its configuration again",
                            "  crab gateway check && crab gateway reload");
    asks(reload, *reload_options, Answer::kChange);
    log_levels(parent);
}

void CommandLine::log_levels(CLI::App& parent) {
    auto [list, list_options] = leaf<GatewayLogLevels>(
        parent, "log-levels", "Show how much the gateway logs, and of which parts",
        "  crab gateway log-levels\n  crab gateway log-levels -o json");
    asks(list, *list_options, Answer::kList);
    auto [set, options] = leaf<GatewayLogLevel>(
        parent, "log-level",
        "Have the gateway log more or less, until it reads its configuration again",
        "  crab gateway log-level debug --part adapters/mcp\n"
        "  crab gateway log-level configured --part adapters/mcp");
    set->add_option("level", options->level, "The least severe that is written")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"debug", "info", "warn", "error", "off", "configured"}))
        ->required();
    set->add_option("--part", options->part,
                    "Of this part alone, a folder of the source such as trust, or adapters for all "
                    "below it (default: of all that have no level of their own)")
        ->type_name("PART");
    asks(set, *options, Answer::kChange);
}

void CommandLine::logs() {
    auto [command, options] = leaf<Logs>(
        app_, "logs",
        "Show what the gateway has logged: by the journal if systemd runs it, else from the file "
        "that its standard error goes to",
        "  crab logs\n  crab logs -f\n  crab logs --lines 1000 --since '1 hour ago'");
    command->add_flag("-f,--follow", options->follow, "Go on with what comes, until Ctrl-C");
    command->add_option("-n,--lines", options->lines, "How many lines of before")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    command
        ->add_option("--since", options->since,
                     "Of the journal: since then, as journalctl takes it (default: any time)")
        ->type_name("WHEN");
    command
        ->add_option("--unit", options->unit,
                     "Of the journal: the unit (default: that in which the gateway runs)")
        ->type_name("UNIT");
    local(command, options->target);
}

void CommandLine::version() {
    auto [command, options] =
        leaf<Version>(app_, "version", "Print the versions of this program and of the gateway",
                      "  crab version\n  crab version --client\n  crab version -o json");
    command->add_flag("--client", options->client, "This program's alone; asks no gateway");
    remote(command, options->target);
    choose_output(command, options->output);
}

void CommandLine::context() {
    CLI::App& parent = group("context", "Name gateways, and say which one commands ask");
    auto [list, list_options] = leaf<ContextList>(
        parent, "list", "List the gateways that have a name", "  crab context list");
    choose_output(list, list_options->output, Answer::kFixedList);
    auto [use, use_options] =
        leaf<ContextUse>(parent, "use", "Ask that gateway from now on; local is this machine's",
                         "  crab context use office\n  crab context use local");
    use->add_option("context", use_options->name, "Its name")->type_name("CONTEXT")->required();
    auto [set, options] = leaf<ContextSet>(
        parent, "set", "Give a gateway a name, or change what it stands for",
        "  crab context set office --url https://crab.example:42617 --token-file ~/office.token\n"
        "  crab context set lab --socket /tmp/lab.sock");
    set->add_option("context", options->name, "Its name")->type_name("NAME")->required();
    CLI::Option* const url =
        set->add_option("--url", options->url,
                        "Its public listener; commands that ask an admin socket do not go there")
            ->type_name("URL");
    set->add_option("--socket", options->socket,
                    "Its admin socket, such as one that ssh -L forwards")
        ->type_name("PATH")
        ->excludes(url);
    set->add_option("--token-file", options->token_file,
                    "File with the token for --url; the token itself is not kept (default: "
                    "CRAB_TOKEN)")
        ->type_name("PATH")
        ->needs(url);
    set->add_option("--ca-file", options->ca_file,
                    "Authorities that may vouch for --url (default: the system's)")
        ->type_name("PATH")
        ->needs(url);
    plain(set, options->allow_plain)->needs(url);
    auto [remove, remove_options] =
        leaf<ContextRemove>(parent, "remove", "Take a name away", "  crab context remove office");
    remove->add_option("context", remove_options->name, "Its name")
        ->type_name("CONTEXT")
        ->required();
}

namespace {

/// How `crab host NAME --listen` shows itself to the gateway that pairs with it.
void add_tls_options(CLI::App& command, RunHost& options, CLI::Option* remote) {
    CLI::Option* const ca = command.add_option(
        "--tls-ca", options.tls_ca, "Operator-made CA: only who has a certificate of it may pair");
    CLI::Option* const cert =
        command.add_option("--tls-cert", options.tls_cert,
                           "Certificate of that CA, which the host shows until it is paired");
    CLI::Option* const key =
        command.add_option("--tls-key", options.tls_key, "Key of that certificate");
    for (CLI::Option* const one : {ca, cert, key})
        one->type_name("FILE")->needs(remote)->needs(ca)->needs(cert)->needs(key);
}

/// Where a host listens: for its user, or for a gateway elsewhere that pairs with it.
void add_listen_options(CLI::App& command, RunHost& options, const std::string& name) {
    CLI::Option* const local = command.add_option(
        "--unix", options.socket,
        "Socket to listen on, for the same user; name it under hosts: in the gateway's "
        "configuration");
    CLI::Option* const remote = command.add_option(
        "--listen", options.listen,
        "Address to listen on with mutual TLS, for the gateway that pairs with it (crab peers "
        "pair tool)");
    local->type_name("PATH")->excludes(remote);
    remote->type_name("HOST:PORT");
    command
        .add_option("--id", options.component_id,
                    "Its id as a peer, with --listen (default: " + name + ")")
        ->type_name("ID")
        ->needs(remote);
    command
        .add_option("--gateway-key", options.gateway_key,
                    "The only gateway that may pair, as crab peers identity prints it; needed with "
                    "--listen")
        ->type_name("B64")
        ->needs(remote);
    command
        .add_option("--pair-path", options.pair_path,
                    "Path of the pairing endpoint, in addition to / (default: /v1/pair)")
        ->type_name("PATH")
        ->needs(remote);
    add_tls_options(command, options, remote);
}

/// What one kind of host needs and the others do not.
void add_options_of_kind(CLI::App& command, RunHost& options) {
    switch (options.kind) {
        case hosting::HostKind::kMemory: return;
        case hosting::HostKind::kCron:
            command
                .add_option("--events-to", options.events_to,
                            "Gateway that takes what jobs fire: unix:/PATH of its admin socket, "
                            "or https://HOST:PORT of its peer listener (default: events wait)")
                ->type_name("URL");
            return;
        case hosting::HostKind::kExec:
            command
                .add_option(
                    "--config", options.config,
                    "Configuration in the gateway's form, of which worktrees and providers count")
                ->type_name("FILE")
                ->required();
            return;
    }
}

}  // namespace

void CommandLine::host() {
    CLI::App& parent = group("host", "Run a built-in tool host as a process of its own");
    const auto add = [&](hosting::HostKind kind, const std::string& what) {
        const std::string name(name_of(kind));
        const std::string start =
            "  crab host " + name +
            (kind == hosting::HostKind::kExec ? " --config commands.yaml" : "");
        auto [command, options] = leaf<RunHost>(parent, name, what,
                                                start + " --unix /run/crab/" + name + ".sock\n" +
                                                    start + " --listen 0.0.0.0:7443 --id " + name +
                                                    "-east --gateway-key \"$KEY\"");
        options->kind = kind;
        add_listen_options(*command, *options, name);
        add_options_of_kind(*command, *options);
        command
            ->add_option(
                "--state", options->state_dir,
                "Folder for its databases (default: hosts/" + name + " in crab's state directory)")
            ->type_name("DIR");
    };
    add(hosting::HostKind::kMemory,
        "Remember and search: memory.append, memory.query, memory.delete");
    add(hosting::HostKind::kCron,
        "Keep and fire scheduled jobs: cron.create, cron.list, cron.remove; their events wait in "
        "its store");
    add(hosting::HostKind::kExec,
        "Run configured commands, each call in a sandbox: the providers of kind command of a "
        "configuration");
}

void CommandLine::about_principal(CLI::App* test, PolicyTest& options) {
    test->add_option("--role", options.roles,
                     "Its roles, separated by commas (default: those that such a principal has)")
        ->type_name("ROLES")
        ->delimiter(',')
        ->allow_extra_args(false);
    test->add_option("--tenant", options.tenant,
                     "For which tenant (default: a call's is that of the principal)")
        ->type_name("NAME");
    test->add_option("--agent", options.agent,
                     "For which agent, where a lease names one (default: any)")
        ->type_name("NAME");
    test->add_option("--session", options.session,
                     "In which session, where a lease names one (default: any)")
        ->type_name("NAME");
}

void CommandLine::policy() {
    CLI::App& parent = group("policy", "Ask what the policy says");
    auto [test, options] = leaf<PolicyTest>(
        parent, "test",
        "Ask the running gateway whether a principal may do something, and by which rule; exit "
        "code 0 if it may, else 4",
        "  crab policy test --as subscriber/log events.subscribe:cron.triggered --tenant harbour\n"
        "  crab policy test --as caller/ci call disk_usage --args '{\"path\":\"/root\"}'\n"
        "  crab policy test --as agent/butler call disk_usage --trace\n"
        "  crab policy test --file --as agent/butler call disk_usage --effects none\n"
        "  crab policy test --as device/phone register shell_date\n"
        "  crab policy test --as subscriber/log events.subscribe:cron.triggered --lease 9f2c…");
    test->add_option(
            "question", options->question,
            "An action such as events.subscribe:cron.triggered, or call TOOL, or register TOOL")
        ->type_name("QUESTION")
        ->required()
        ->expected(1, 2);
    test->add_option(
            "--as", options->as,
            "The principal, such as subscriber/log, caller/ci, device/phone or agent/butler")
        ->type_name("PRINCIPAL")
        ->required();
    about_principal(test, *options);
    test->add_option("--lease", options->lease,
                     "Under this lease, which is about actions (default: none)")
        ->type_name("LEASE_ID");
    test->add_option(
            "--args", options->args,
            "Arguments of the call: a JSON object, @FILE, or - (default: whichever they may be)")
        ->type_name("JSON");
    test->add_option("--source", options->source,
                     "Where the tool comes from, such as device/phone (default: as it is offered)")
        ->type_name("SOURCE");
    test->add_option("--effects", options->effects,
                     "Side effects of the tool: none or possible (default: as it is offered)")
        ->type_name("WORD")
        ->check(CLI::IsMember({"none", "possible"}));
    test->add_flag("--bytes", options->bytes,
                   "The arguments of the call are bytes and no JSON, so that no rule sees them")
        ->excludes("--args");
    test->add_flag("--trace", options->trace, "Show what each rule says, and why");
    test->add_flag("--file", options->file,
                   "Ask the configuration file, not the running gateway, which may have read "
                   "another one")
        ->excludes("--lease");
    asks(test, *options);
    policy_matrix(parent);
}

void CommandLine::policy_matrix(CLI::App& parent) {
    auto [matrix, shown] = leaf<PolicyMatrix>(
        parent, "matrix", "Show which tools a principal may call now, and by which rule",
        "  crab policy matrix --as caller/ci\n  crab policy matrix --as agent/butler -o json");
    matrix->add_option("--as", shown->as, "The principal, such as caller/ci or agent/butler")
        ->type_name("PRINCIPAL")
        ->required();
    asks(matrix, *shown, Answer::kList);
}

void CommandLine::config() {
    CLI::App& parent = group("config", "What the running gateway is configured with");
    auto [show, shown] = leaf<ConfigShow>(
        parent, "show", "Show every key with its value, default and line; secrets are not told",
        "  crab config show --changed\n  crab config show -o json");
    show->add_flag("--changed", shown->changed, "Only what is not the default");
    asks(show, *shown, Answer::kList);
    auto [path, options] =
        leaf<ConfigPath>(parent, "path", "Print the path of its file", "  crab config path");
    asks(path, *options);
}

void CommandLine::tls() {
    CLI::App& parent = group("tls", "Certificates for the public listener");
    auto [command, options] = leaf<TlsInit>(
        parent, "init",
        "Make a certificate for this machine's names, or check one, and say what to configure",
        "  crab tls init\n  crab tls init --name home.example --name 192.168.1.5\n  crab tls init "
        "--cert fullchain.pem --key key.pem");
    repeated(command, "--name", options->names, "NAME",
             "A host name or address of the gateway, repeatable (default: this machine's names and "
             "addresses)");
    command
        ->add_option("--dir", options->directory,
                     "Folder for the files (default: tls in the state directory)")
        ->type_name("DIR");
    CLI::Option* const cert =
        command
            ->add_option(
                "--cert", options->cert,
                "A certificate that is there already, its chain behind it: nothing is made "
                "(default: one is made)")
            ->type_name("FILE");
    cert->excludes("--name")->excludes("--dir");
    command->add_option("--key", options->key, "Its key (default: in the file of --cert)")
        ->type_name("FILE");
    configuration(command, options->config);
    command->add_flag("--system", options->system, "For the system service");
    choose_output(command, options->output);
}

void CommandLine::doctor() {
    auto [command, options] = leaf<Doctor>(
        app_, "doctor",
        "Check configuration, directories, socket, listeners and limits; or why a tool is missing",
        "  crab doctor\n  crab doctor -o json\n  crab doctor --tool take_photo --as caller/ci\n  "
        "crab doctor --device phone");
    local(command, options->target);
    command
        ->add_option(
            "--tool", options->tool,
            "Ask the gateway what stands between this tool and its caller (default: check the "
            "installation)")
        ->type_name("TOOL");
    command
        ->add_option("--device", options->device, "The device that should offer it (default: any)")
        ->type_name("DEVICE");
    command->add_option("--as", options->as, "The caller, such as caller/ci (default: you)")
        ->type_name("PRINCIPAL");
    command->add_flag("--system", options->system, "Check the system service");
    choose_output(command, options->output);
}

void CommandLine::console() {
    auto [command, options] = leaf<ConsoleRun>(
        app_, "console", "See, try and approve in a browser: serve the console on this machine",
        "  crab console\n  crab console --open\n  crab console --read-only --port 0");
    command
        ->add_option("--port", options->port,
                     "Port of 127.0.0.1; 0: any that is free (default: 42619)")
        ->type_name("PORT");
    command->add_flag("--open", options->open, "Open the link in this desktop's browser");
    command->add_flag("--read-only", options->read_only, "Change nothing: refuse all but reading");
    duration(command, "--idle", options->idle,
             "How long a session may be unused before it ends (default: 8h)");
    local(command, options->target);
}

void CommandLine::of_gateway(CLI::App* command, std::filesystem::path& config, bool& system) {
    configuration(command, config);
    command->add_flag("--system", system, "Those of the system service");
}

void CommandLine::backup() {
    auto [command, options] = leaf<Backup>(
        app_, "backup", "Copy the gateway's state into a new folder, whether it runs or not",
        "  crab backup ~/crab-2026-05-01");
    command->add_option("to", options->to, "The folder to make")->type_name("DIR")->required();
    of_gateway(command, options->config, options->system);
    choose_output(command, options->output);
}

void CommandLine::restore() {
    auto [command, options] = leaf<Restore>(
        app_, "restore",
        "Put a backup in the place of the gateway's state, which has to be stopped",
        "  crab restore ~/crab-2026-05-01\n  crab restore ~/crab-2026-05-01 --to /srv/crab/state");
    command->add_option("from", options->from, "What crab backup has made")
        ->type_name("DIR")
        ->required();
    command
        ->add_option("--to", options->to,
                     "State folder to make or replace (default: the gateway's)")
        ->type_name("DIR");
    of_gateway(command, options->config, options->system);
    choose_output(command, options->output);
}

void CommandLine::completion() {
    auto [command, options] = leaf<Completion>(
        app_, "completion", "Print a completion script",
        "  crab completion bash > ~/.local/share/bash-completion/completions/crab\n"
        "  crab completion zsh > \"${fpath[1]}/_crab\"\n  crab completion fish > "
        "~/.config/fish/completions/crab.fish");
    command->add_option("shell", options->shell, "bash, zsh or fish")
        ->type_name("SHELL")
        ->required()
        ->check(one_of({"bash", "zsh", "fish"}));
    auto [names, asked] = leaf<CompletionNames>(
        app_, "completion-names", "Print names of what is there, for completion scripts",
        "  crab completion-names devices");
    names->group("");
    names->add_option("kind", asked->kind, "Of what")->type_name("KIND")->required();
    local(names, asked->target);
}

void CommandLine::schema() {
    CLI::App& parent = group("schema", "Check JSON against a JSON Schema");
    auto [check, check_options] =
        leaf<SchemaCheck>(parent, "check", "Check one instance; prints the errors as JSON",
                          "  crab schema check schema.json instance.json");
    check->add_option("schema", check_options->schema, "The schema")
        ->type_name("SCHEMA_FILE")
        ->required();
    check
        ->add_option("instance", check_options->instance, "The JSON to check, - for standard input")
        ->type_name("JSON_FILE")
        ->required();
    auto [suite, suite_options] =
        leaf<SchemaSuite>(parent, "suite", "Run a directory of the JSON Schema test suite",
                          "  crab schema suite tests/draft2020-12 --remotes remotes");
    suite->add_option("directory", suite_options->directory, "Directory with the suite's files")
        ->type_name("DIR")
        ->required();
    suite
        ->add_option("--remotes", suite_options->remotes,
                     "Directory that http://localhost:1234/ stands for (default: none)")
        ->type_name("DIR");
}

void CommandLine::help() {
    auto [command, options] =
        leaf<Help>(app_, "help", "Show the help of a command, or the exit codes",
                   "  crab help call\n  crab help exit-codes");
    command->add_option("topic", options->topic, "A command, or exit-codes (default: the commands)")
        ->type_name("TOPIC");
    command->add_flag("--markdown", options->markdown, "Print docs/reference/cli.md")->group("");
    command->add_option("--man", options->man, "Write a man page of every command there")
        ->type_name("DIR")
        ->group("");
}

}  // namespace crab::cli

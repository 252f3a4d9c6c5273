#include "cli/command_grammar.hpp"

namespace crab::cli {

void CommandLine::one_device(CLI::App& parent) {
    auto [show, show_options] = leaf<DevicesShow>(
        parent, "show", "Show one device: its connections, its tools, what was refused, what waits",
        "  crab devices show phone\n  crab devices show phone -o json");
    show->add_option("device", show_options->device, "The device, or a caller")
        ->type_name("DEVICE")
        ->required();
    asks(show, *show_options);
    auto [rename, rename_options] =
        leaf<DevicesRename>(parent, "rename", "Give a device another name; its slug stays",
                            "  crab devices rename phone 'Phone of Ann'");
    rename->add_option("device", rename_options->device, "The device")
        ->type_name("DEVICE")
        ->required();
    rename->add_option("name", rename_options->name, "Its new name")->type_name("NAME")->required();
    asks(rename, *rename_options, Answer::kChange);
}

void CommandLine::pair_device(CLI::App& parent) {
    auto [pair, pair_options] = leaf<DevicesPair>(
        parent, "pair", "Make a pairing code, or a token at once",
        "  crab devices pair --name phone --qr\n  crab devices pair --console --qr "
        "--name me\n  crab devices pair --out ci.token --name ci --role caller "
        "--expires 30d");
    pair->add_option("--name", pair_options->name,
                     "Name of the device (default: what it says itself)")
        ->type_name("NAME");
    pair->add_option("--role", pair_options->roles,
                     "Roles, separated by commas (default: device, which offers tools and chats); "
                     "caller calls every tool that policy allows; operator, …")
        ->type_name("ROLES")
        ->delimiter(',')
        ->allow_extra_args(false);
    repeated(pair, "--tenant", pair_options->tenants, "NAME",
             "A tenant that it may act for in addition to `default`, repeatable (default: none)");
    pair->add_flag("--no-default-tenant", pair_options->no_default_tenant,
                   "Only for the tenants of --tenant, not for `default`");
    duration(pair, "--expires", pair_options->expires,
             "How long the code, or the token, is valid (default: a code 5m, a token a year)");
    pair->add_flag("--token", pair_options->token,
                   "Print a token instead of a code, and nothing else");
    pair->add_flag("--trust-annotations", pair_options->trust_annotations,
                   "Believe what the device says of its tools, such as that they only read");
    pair->add_option("--out", pair_options->out,
                     "Write a token into this new file, which only you may read (mode 0600), in "
                     "place of a code (default: none)")
        ->type_name("FILE");
    pair->add_flag("--console", pair_options->console,
                   "For a person's browser, which signs in to the console with a key of its own "
                   "(roles: operator, unless --role says otherwise)");
    pair->add_flag("--qr", pair_options->qr,
                   "Show a QR code that opens the page with the code, for the camera of a phone");
    pair->add_option("--page", pair_options->page,
                     "Address of the page in that QR code, when the gateway does not know "
                     "its own, such as https://home.example/device/ (default: the gateway's)")
        ->type_name("URL");
    asks(pair, *pair_options);
}

void CommandLine::devices() {
    CLI::App& parent = group("devices", "Pair devices, list and revoke them; be one");
    auto [list, list_options] = leaf<DevicesList>(
        parent, "list", "List the devices and their tokens", "  crab devices list");
    asks(list, *list_options, Answer::kList);
    one_device(parent);
    device(parent);
    pair_device(parent);
    auto [approve, approve_options] = leaf<DevicesApprove>(
        parent, "approve",
        "Take in tools that a known device has added (configuration: approvals.new_tools)",
        "  crab devices approve phone\n  crab devices approve phone sms.send");
    approve->add_option("device", approve_options->device, "The device")
        ->type_name("DEVICE")
        ->required();
    approve->add_option("tools", approve_options->tools, "Names of tools (default: all that wait)")
        ->type_name("TOOL");
    asks(approve, *approve_options, Answer::kChange);
    auto [revoke, revoke_options] =
        leaf<DevicesRevoke>(parent, "revoke", "Revoke a device with all its tokens",
                            "  crab devices revoke phone\n  crab devices revoke phone --yes");
    CLI::Option* name =
        revoke->add_option("device", revoke_options->device, "The device")->type_name("DEVICE");
    revoke
        ->add_option_function<std::string>(
            "--token-id",
            [this, out = &revoke_options->token_id](const std::string& id) {
                *out = id;
                note_old("--token-id", "crab tokens revoke");
            },
            "One token, by its id")
        ->type_name("TOKEN_ID")
        ->group("")
        ->excludes(name);
    confirm(revoke, revoke_options->yes);
    asks(revoke, *revoke_options, Answer::kChange);
}

void CommandLine::tokens() {
    CLI::App& parent = group("tokens", "Make, list and revoke the tokens of callers");
    auto [create, options] =
        leaf<TokensCreate>(parent, "create", "Make a token, for a caller if no role is named",
                           "  crab tokens create --name ci --out ci.token --expires 30d\n"
                           "  crab tokens create --name scrape --role metrics");
    create->add_option("--name", options->name, "Whose it is")->type_name("NAME")->required();
    create
        ->add_option("--role", options->roles,
                     "Roles, separated by commas (default: caller, which calls every tool that "
                     "policy allows)")
        ->type_name("ROLES")
        ->delimiter(',')
        ->allow_extra_args(false);
    repeated(create, "--tenant", options->tenants, "NAME",
             "A tenant that it may act for in addition to `default`, repeatable (default: none)");
    create->add_flag("--no-default-tenant", options->no_default_tenant,
                     "Only for the tenants of --tenant, not for `default`");
    duration(create, "--expires", options->expires, "How long it is valid (default: a year)");
    create
        ->add_option("--out", options->out,
                     "Write it into this new file, which only you may read (default: print it, and "
                     "nothing else)")
        ->type_name("FILE");
    asks(create, *options);
    auto [list, list_options] =
        leaf<TokensList>(parent, "list", "List the tokens and whose they are; no secret is shown",
                         "  crab tokens list\n  crab tokens list --all");
    list->add_flag("--all", list_options->all, "Revoked ones, too");
    asks(list, *list_options, Answer::kList);
    auto [revoke, revoke_options] = leaf<TokensRevoke>(parent, "revoke", "Revoke tokens for good",
                                                       "  crab tokens revoke tok_1 --yes");
    revoke->add_option("token", revoke_options->ids, "Their ids")
        ->type_name("TOKEN_ID")
        ->required();
    confirm(revoke, revoke_options->yes);
    asks(revoke, *revoke_options, Answer::kChange);
}

void CommandLine::artifacts() {
    CLI::App& parent = group("artifacts", "List, fetch and delete large results");
    auto [list, list_options] = leaf<ArtifactsList>(
        parent, "list", "List the large results that are kept", "  crab artifacts list");
    remote(list, list_options->target);
    choose_output(list, list_options->output, Answer::kList);
    auto [get, get_options] =
        leaf<ArtifactsGet>(parent, "get", "Fetch one into a file and check its hash",
                           "  crab artifacts get 9f2c… --to photo.jpg");
    get->add_option("artifact", get_options->id, "Its id")->type_name("ARTIFACT")->required();
    get->add_option("--to", get_options->file,
                    "Where to; - is standard output (default: the id, in this folder)")
        ->type_name("FILE");
    remote(get, get_options->target);
    choose_output(get, get_options->output, Answer::kChange);
    auto [remove, remove_options] = leaf<ArtifactsDelete>(parent, "delete", "Delete one now",
                                                          "  crab artifacts delete 9f2c… --yes");
    remove->add_option("artifact", remove_options->id, "Its id")->type_name("ARTIFACT")->required();
    confirm(remove, remove_options->yes);
    remote(remove, remove_options->target);
    choose_output(remove, remove_options->output, Answer::kChange);
}

void CommandLine::sessions() {
    CLI::App& parent = group("sessions", "List, read and delete your chat sessions");
    auto [list, list_options] =
        leaf<SessionsList>(parent, "list", "List them, the one used last first",
                           "  crab sessions list\n  crab sessions list --agent butler kitchen");
    list->add_option("words", list_options->words,
                     "Words that are all in the name (default: any name)")
        ->type_name("WORD");
    list->add_option("--agent", list_options->agent,
                     "The agent's name; * stands for any text (default: all)")
        ->type_name("NAME");
    list->add_option("--limit", list_options->limit, "How many at most (default: 50)")
        ->type_name("N")
        ->check(CLI::Range(1, 200));
    remote(list, list_options->target);
    choose_output(list, list_options->output, Answer::kList);
    auto [show, show_options] = leaf<SessionsShow>(parent, "show", "Print what was said in one",
                                                   "  crab sessions show kitchen-7");
    show->add_option("session", show_options->id, "Its id")->type_name("SESSION")->required();
    remote(show, show_options->target);
    choose_output(show, show_options->output);
    auto [remove, remove_options] =
        leaf<SessionsDelete>(parent, "delete", "Delete one, with all that was said in it",
                             "  crab sessions delete kitchen-7 --yes");
    remove->add_option("session", remove_options->id, "Its id")->type_name("SESSION")->required();
    remove->add_flag("--yes", remove_options->yes,
                     "Do not ask; without a terminal it has to be said");
    remote(remove, remove_options->target);
    choose_output(remove, remove_options->output, Answer::kChange);
}

void CommandLine::worktrees() {
    CLI::App& parent = group("worktrees", "Say in which worktree the commands of a caller work");
    auto [bind, bind_options] =
        leaf<WorktreeBind>(parent, "bind", "Bind a principal or an agent to a worktree, for good",
                           "  crab worktrees bind caller/ci garden/main");
    bind->add_option("who", bind_options->who, "The principal, such as caller/ci, or an agent's id")
        ->type_name("WHO")
        ->required();
    bind->add_option("worktree", bind_options->worktree, "Its id in the gateway's configuration")
        ->type_name("REPO/WORKTREE")
        ->required();
    asks(bind, *bind_options, Answer::kChange);
    auto [unbind, unbind_options] =
        leaf<WorktreeBind>(parent, "unbind", "End a binding", "  crab worktrees unbind caller/ci");
    unbind->add_option("who", unbind_options->who, "Who was bound")->type_name("WHO")->required();
    asks(unbind, *unbind_options, Answer::kChange);
    auto [status, status_options] = leaf<WorktreeStatus>(
        parent, "list", "List the worktrees and who is bound to them", "  crab worktrees list");
    asks(status, *status_options, Answer::kList);
}

void CommandLine::device(CLI::App& parent) {
    auto [command, options] = leaf<Device>(
        parent, "run", "Be a device: serve commands of this machine as tools of a gateway",
        "  crab devices run --pair 123456 --name laptop --exec uptime=uptime\n  crab devices run "
        "--exec "
        "'play=play-file' --schema play=@play.json --describe 'play=Plays a file from the music "
        "folder'\n  crab devices run --token-file token --exec 'disk.free=df -h'");
    DeviceOptions& device = options->options;
    command
        ->add_option(
            "--gateway", device.gateway,
            std::string("Address of the gateway (default: that of the last pairing, else ") +
                DeviceOptions::kUsualGateway + ")")
        ->type_name("URL");
    secret(command, "--token", device.token,
           "Bearer token (default: CRAB_TOKEN, which is better, or --token-file)");
    command
        ->add_option("--token-file", options->token_file,
                     "File that holds the token (default: what the last pairing has kept)")
        ->type_name("PATH");
    authorities(command, device.ca_file);
    plain(command, device.allow_plain);
    command
        ->add_option(
            "--pair", device.pair_code,
            "Pair with this code first; on a gateway of your own, whose admin socket opens to you, "
            "its tools are believed as with crab devices pair --trust-annotations (default: do not "
            "pair)")
        ->type_name("CODE");
    local(command, options->target);
    command->add_option("--name", device.name, "Name for people (default: the host's name)")
        ->type_name("NAME");
    repeated(command, "--exec", options->exec, "NAME=COMMAND",
             "A tool that runs a command (split as a shell would, without expansion), repeatable; "
             "arguments come as JSON on its standard input (default: no tools)");
    repeated(command, "--schema", options->schemas, "NAME=JSON",
             "JSON Schema of the arguments of that --exec, or NAME=@FILE, repeatable; the gateway "
             "checks calls against it (default: any arguments)");
    repeated(command, "--describe", options->descriptions, "NAME=TEXT",
             "What that --exec does, for models and people, repeatable (default: its name)");
    command
        ->add_option(
            "--state", device.state_file,
            "File that keeps the token after pairing (default: device.json in the state directory)")
        ->type_name("PATH");
    command
        ->add_option("--session-id", device.session_id, "Session to resume (default: the last one)")
        ->type_name("ID");
    command->add_flag("--once", device.once,
                      "End with the first connection instead of reconnecting");
}

void CommandLine::bridge() {
    CLI::App& parent = group("bridge", "Offer the apps of this machine to a gateway (CETP)");
    auto [run, run_options] = leaf<BridgeRun>(
        parent, "run", "Find apps with tools and register them as one device, until Ctrl-C",
        "  crab bridge run --pair 1234-5678-9012\n  crab bridge run --token-file token --name "
        "laptop");
    run->add_option("--gateway", run_options->gateway, "Address of the gateway")
        ->type_name("URL")
        ->capture_default_str();
    secret(run, "--token", run_options->token,
           "Bearer token (default: CRAB_TOKEN, which is better, or --token-file)");
    run->add_option(
           "--token-file", run_options->token_file,
           "File that holds the token, and keeps the one that pairing gives (default: token "
           "in the bridge's folder)")
        ->type_name("PATH");
    authorities(run, run_options->ca_file);
    plain(run, run_options->allow_plain);
    run->add_option("--pair", run_options->pair_code, "Pair with this code first (default: do not)")
        ->type_name("CODE");
    run->add_option("--name", run_options->name, "Name for people (default: the host's name)")
        ->type_name("NAME");
    auto [list, list_options] = leaf<BridgeList>(
        parent, "list", "List the providers declared on this machine, without starting them",
        "  crab bridge list");
    choose_output(list, list_options->output, Answer::kFixedList);
    auto [status, status_options] = leaf<BridgeStatusShow>(
        parent, "status", "Show the running bridge, its providers, and who wants you to act",
        "  crab bridge status");
    choose_output(status, status_options->output);
    for (const bool yes : {true, false}) {
        auto [command, options] = leaf<BridgeEnable>(
            parent, yes ? "enable" : "disable",
            yes ? "Allow a provider, with what it asks for" : "Keep a provider's tools to itself",
            yes ? "  crab bridge enable org.example.Ledger"
                : "  crab bridge disable org.example.Ledger");
        options->yes = yes;
        command->add_option("provider", options->provider, "Id of the provider")
            ->type_name("PROVIDER")
            ->required();
        choose_output(command, options->output, Answer::kChange);
    }
    auto [call, call_options] = leaf<BridgeCall>(
        parent, "call", "Call a tool of a provider directly, without bridge and gateway",
        "  crab bridge call org.example.Ledger\n  crab bridge call org.example.Ledger balance "
        "'{\"account\":\"cash\"}'");
    call->add_option("provider", call_options->provider, "Id of the provider")
        ->type_name("PROVIDER")
        ->required();
    call->add_option("tool", call_options->tool,
                     "Its tool (default: none; its list of tools is printed)")
        ->type_name("NAME");
    call->add_option("args", call_options->args, "Arguments, a JSON object (default: {})")
        ->type_name("JSON");
    duration(call, "--timeout", call_options->timeout, "How long to wait (default: 30s)");
}

}  // namespace crab::cli

#include "cli/command_grammar.hpp"

namespace crab::cli {

void CommandLine::tools() {
    CLI::App& parent = group("tools", "See which tools can be called");
    auto [list, list_options] =
        leaf<ToolsList>(parent, "list", "List the tools",
                        "  crab tools list\n  crab tools list 'sms.*' --source 'device/*'\n"
                        "  crab tools list -o jsonpath='{.tools[*].name}'");
    list->add_option("glob", list_options->glob,
                     "Only names that fit; * and ? stand for any text (default: all)")
        ->type_name("GLOB");
    list->add_option("--source", list_options->source,
                     "Only from there: device/phone, device/*, built_in/memory (default: all)")
        ->type_name("GLOB");
    remote(list, list_options->target);
    choose_output(list, list_options->output, Answer::kList);
    auto [show, show_options] = leaf<ToolsShow>(parent, "show", "Show one tool with its arguments",
                                                "  crab tools show sms.send");
    show->add_option("tool", show_options->tool, "Name of the tool")->type_name("TOOL")->required();
    remote(show, show_options->target);
    choose_output(show, show_options->output);
    auto [check, check_options] =
        leaf<ToolsCheck>(parent, "check", "Tell what would become of a call, without running it",
                         "  crab tools check sms.send '{\"to\":\"+4930123\"}'\n"
                         "  crab tools check sms.send @args.json --as caller/ci");
    check->add_option("tool", check_options->tool, "Name of the tool")
        ->type_name("TOOL")
        ->required();
    check
        ->add_option("arguments", check_options->args,
                     "Arguments: a JSON object, @FILE, or - for standard input (default: {})")
        ->type_name("JSON");
    check->add_option("--as", check_options->as, "Who would call, such as caller/ci (default: you)")
        ->type_name("PRINCIPAL");
    asks(check, *check_options);
    auto [cost, cost_options] = leaf<ToolsCost>(
        parent, "cost", "Show how many tokens each tool costs a model, and what it would be given",
        "  crab tools cost\n  crab tools cost --agent butler\n"
        "  crab tools cost --front mcp --scope kitchen");
    cost->add_option("--agent", cost_options->agent, "Whose model")
        ->type_name("NAME")
        ->capture_default_str();
    cost->add_option("--front", cost_options->front,
                     "Whose list: chat, that of an agent, or mcp, that of MCP clients")
        ->type_name("FRONT")
        ->check(one_of({"chat", "mcp"}))
        ->capture_default_str();
    cost->add_option("--scope", cost_options->scope,
                     "Of mcp: the list of /mcp/NAME (default: that of /mcp)")
        ->type_name("NAME");
    asks(cost, *cost_options);
}

void CommandLine::agents() {
    CLI::App& parent = group("agents", "See the agents, and the turns that events have started");
    auto [list, list_options] =
        leaf<AgentsList>(parent, "list", "List the agents with their models, events and tools",
                         "  crab agents list");
    asks(list, *list_options, Answer::kList);
    auto [turns, turns_options] = leaf<AgentsList>(
        parent, "turns", "List the latest turns that events have started", "  crab agents turns");
    turns_options->turns = true;
    asks(turns, *turns_options, Answer::kList);
    auto [show, show_options] =
        leaf<AgentsShow>(parent, "show", "Show what was said in a turn that an event has started",
                         "  crab agents show 0192f0c1-…");
    show->add_option("turn", show_options->turn_id, "Id of the turn")
        ->type_name("TURN_ID")
        ->required();
    asks(show, *show_options);
}

void CommandLine::chat() {
    auto [command, options] = leaf<Chat>(
        app_, "chat",
        "Chat with the gateway's model, which may use your tools; Ctrl-C cancels an answer",
        "  crab chat\n  crab chat --session kitchen-7\n  crab chat --once 'Which devices are "
        "connected?'\n"
        "  git diff | crab chat --once - > review.txt");
    command
        ->add_option("--once", options->once,
                     "Ask this, print the answer and end; - reads the question from standard input "
                     "(default: a conversation)")
        ->type_name("TEXT");
    command
        ->add_option("--session", options->session,
                     "Chat session to go on with or to begin (default: a new one)")
        ->type_name("ID");
    command
        ->add_option("--agent", options->agent,
                     "Agent of a chat session that begins (default: the standard one)")
        ->type_name("NAME");
    remote(command, options->target);
    choose_output(command, options->output, Answer::kStream);
}

void CommandLine::call() {
    auto [command, options] = leaf<CallTool>(
        app_, "call", "Call a tool and print its result; Ctrl-C cancels the call",
        "  crab call clipboard.read\n  crab call sms.send '{\"to\":\"+4930123\",\"text\":\"hi\"}'\n"
        "  crab call sms.send --arg to=+4930123 --arg text=hi\n  crab call report.make @args.json "
        "--timeout 2m --stream\n"
        "  echo '{\"n\":3}' | crab call dice.roll -\n"
        "  crab call --url grpc://127.0.0.1:50063 read_file --arg path=notes.md --policy "
        "network=DENY_ALL --policy cpu=500ms --summary");
    command->add_option("tool", options->tool, "Name of the tool")->type_name("TOOL")->required();
    command
        ->add_option("arguments", options->args,
                     "Arguments: a JSON object, @FILE, or - for standard input (default: {})")
        ->type_name("JSON");
    repeated(command, "--arg", options->arg, "KEY=VALUE",
             "One argument, repeatable; the value is JSON if it reads as JSON, else a string; "
             "KEY:=JSON insists on JSON (default: none)");
    duration(command, "--timeout", options->timeout, "Longest wait (default: the tool's)");
    duration(command, "--away-wait", options->away_wait,
             "Wait so long, 2m at most, for a device that is away, if the tool only reads "
             "(default: fail at once)");
    command->add_flag("--stream", options->stream, "Print parts of the result as they come");
    command
        ->add_option("--idempotency-key", options->idempotency_key,
                     "A repeat with this key does not run the tool again (default: none)")
        ->type_name("KEY");
    command->add_option("--call-id", options->call_id, "Id of the call (default: a new one)")
        ->type_name("ID");
    command->add_option("--tenant", options->tenant, "Tenant the call acts for")
        ->type_name("NAME")
        ->capture_default_str();
    command->add_option("--agent", options->agent, "Agent in the call's context")
        ->type_name("NAME")
        ->capture_default_str();
    command->add_option("--session", options->session, "Session in the call's context")
        ->type_name("NAME")
        ->capture_default_str();
    repeated(command, "--policy", options->policy, "FIELD=VALUE",
             "With --url grpc://…: the execution policy, repeatable; network, privilege, cpu, "
             "wall, retries, backoff, or worktree alone (default: the tool's)");
    command->add_flag(
        "--summary", options->summary,
        "With --url grpc://…: say afterwards what the call used, and under which policy");
    remote(command, options->target, " or grpc://127.0.0.1:50063");
    choose_output(command, options->output);
}

void CommandLine::calls() {
    CLI::App& parent = group("calls", "See and cancel calls");
    auto [list, list_options] = leaf<CallsList>(
        parent, "list", "List running and recent calls",
        "  crab calls list\n  crab calls list --limit 100 --status 'error,timeout'\n"
        "  crab calls list --tool 'sms.*' --since 1h --watch");
    list->add_option("--limit", list_options->limit, "How many recent calls")
        ->type_name("N")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    const auto filter = [command = list](const std::string& name, std::string& out,
                                         const std::string& description) {
        command->add_option(name, out, description)->type_name("GLOBS");
    };
    filter("--tool", list_options->tool,
           "Only these tools; * and ? stand for any text, commas for or (default: all)");
    filter("--status", list_options->status,
           "Only running, ok, error, retryable_error, timeout, cancelled or unknown, separated by "
           "commas (default: all)");
    filter("--principal", list_options->principal, "Only of these callers (default: all)");
    list->add_option_function<std::string>(
            "--since",
            [out = &list_options->since](const std::string& text) {
                *out = moment_of("--since", text);
            },
            "Ended since then: 1h (so long ago), or a time in RFC 3339 (default: any time)")
        ->type_name("WHEN");
    asks(list, *list_options, Answer::kList);
    auto [show, show_options] = leaf<CallsShow>(
        parent, "show", "Tell what happened to a call: who, which rule, hooks, attempts, times",
        "  crab calls show 0192f0c1-…\n  crab calls show 0192f0c1-… -o json");
    show->add_option("call", show_options->call_id, "Id of the call")
        ->type_name("CALL_ID")
        ->required();
    asks(show, *show_options);
    auto [cancel, cancel_options] = leaf<CallsCancel>(parent, "cancel", "Cancel a running call",
                                                      "  crab calls cancel 0192f0c1-…");
    cancel->add_option("call", cancel_options->call_id, "Id of the call")
        ->type_name("CALL_ID")
        ->required();
    asks(cancel, *cancel_options, Answer::kChange);
}

void CommandLine::top() {
    auto [command, options] =
        leaf<Top>(app_, "top", "Show what is called most, how long it takes and how much fails",
                  "  crab top\n  crab top --by principal --window 1h\n  crab top --once -o json");
    command->add_option("--by", options->by, "One row for each: tool, principal or source")
        ->type_name("WHAT")
        ->check(one_of({"tool", "principal", "source"}))
        ->capture_default_str();
    duration(command, "--window", options->window, "How far back, 1h at most (default: 5m)");
    command->add_option("--rows", options->rows, "How many rows")
        ->type_name("N")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_flag("--once", options->once,
                      "One table instead of one that changes; so it is without a terminal");
    asks(command, *options);
}

void CommandLine::events() {
    CLI::App& parent = group("events", "See what happens");
    auto [tail, options] = leaf<EventsTail>(
        parent, "tail", "Show events as they come; Ctrl-C ends it",
        "  crab events tail\n  crab events tail --types 'tool.call.*,cron.*' --from earliest\n"
        "  crab events tail --types cron.triggered --count 1 -o json");
    tail->add_option("--types", options->types,
                     "Only these types: names or globs, separated by commas (default: all)")
        ->type_name("TYPES");
    tail->add_option("--from", options->from,
                     "Begin after this cursor, or with the oldest event: earliest (default: what "
                     "comes next)")
        ->type_name("CURSOR");
    tail->add_option("--count", options->count, "End after so many events (default: never)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    tail->add_flag_callback(
            "--json",
            [this, out = &options->output] {
                *out = Output::kJson;
                note_old("--json", "-o json");
            },
            "One JSON object per line, with its cursor")
        ->group("");
    asks(tail, *options, Answer::kStream);
    auto [forward, forward_options] = leaf<EventsForward>(
        parent, "forward",
        "Post events to a webhook, each until it is taken; goes on where it ended",
        "  crab events forward http://127.0.0.1:8090/v1/events --types agent.response.created");
    forward
        ->add_option(
            "webhook", forward_options->webhook,
            "Where each event is posted; 2xx takes it, other 4xx than 408 and 429 leave it out")
        ->type_name("URL")
        ->required();
    forward
        ->add_option("--types", forward_options->types,
                     "Only these types: names or globs, separated by commas (default: all)")
        ->type_name("TYPES");
    forward
        ->add_option("--subscription", forward_options->subscription,
                     "Name of the position that the gateway keeps; one for each webhook")
        ->type_name("NAME")
        ->capture_default_str();
    forward
        ->add_option("--from", forward_options->from,
                     "Begin after this cursor, or with the oldest event: earliest (default: where "
                     "it ended, else what comes next)")
        ->type_name("CURSOR");
    forward
        ->add_option("--count", forward_options->count, "End after so many events (default: never)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    plain(forward, forward_options->allow_plain);
    local(forward, forward_options->target);
}
}  // namespace crab::cli

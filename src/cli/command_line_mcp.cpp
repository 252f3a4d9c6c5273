#include "cli/client_config.hpp"
#include "cli/command_grammar.hpp"

namespace crab::cli {
namespace {

CLI::Option* server_name(CLI::App* command, std::string& name) {
    return command->add_option("name", name, "The server, as crab mcp list shows it")
        ->type_name("NAME");
}

}  // namespace

void CommandLine::mcp() {
    CLI::App& parent = group("mcp", "Servers and clients of the Model Context Protocol");
    auto [list, list_options] = leaf<McpStatus>(parent, "list", "List the MCP servers",
                                                "  crab mcp list\n  crab mcp list -o json");
    asks(list, *list_options, Answer::kList);
    auto [status, status_options] = leaf<McpStatus>(
        parent, "status",
        "Show how MCP servers do: revision, tools, tools left out and why, last error, last words",
        "  crab mcp status\n  crab mcp status github");
    status_options->details = true;
    server_name(status, status_options->name);
    asks(status, *status_options);
    auto [add, options] = leaf<McpAdd>(
        parent, "add", "Add an MCP server to the running gateway",
        "  crab mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv\n"
        "  crab mcp add notes --sandbox --write /srv/notes -- /usr/bin/notes-mcp /srv/notes\n"
        "  crab mcp add hub https://mcp.example/mcp --header 'Authorization: Bearer …'");
    server_name(add, options->name)->required();
    add->add_option("what", options->what,
                    "Its URL, or after -- the program to start and its arguments")
        ->type_name("URL | -- COMMAND")
        ->required();
    repeated(add, "--env", options->env, "NAME=VALUE",
             "Environment of the program, repeatable; NAME alone takes the value of this process "
             "(default: none)");
    repeated(add, "--header", options->headers, "NAME: VALUE",
             "Header field of every request, repeatable; kept as a secret (default: none)");
    plain(add, options->allow_plain);
    add->add_option("--cwd", options->cwd,
                    "Working directory of the program (default: the gateway's)")
        ->type_name("DIR");
    add->add_option("--era", options->era,
                    "What it speaks: modern, legacy, sse (default: it is found out)")
        ->type_name("ERA")
        ->check(one_of({"modern", "legacy", "sse"}));
    mcp_sandbox(*add, *options);
    add->add_flag("--replace", options->replace, "In the place of one that was added");
    asks(add, *options, Answer::kChange);
    auto [remove, remove_options] =
        leaf<McpRemove>(parent, "remove", "Remove an MCP server that was added, and its secrets",
                        "  crab mcp remove files");
    server_name(remove, remove_options->name)->required();
    confirm(remove, remove_options->yes);
    asks(remove, *remove_options, Answer::kChange);
    auto [diff, diff_options] = leaf<McpDiff>(
        parent, "diff", "Show descriptions that wait for an approval", "  crab mcp diff github");
    server_name(diff, diff_options->name)->required();
    asks(diff, *diff_options);
    auto [approve, approve_options] =
        leaf<McpApprove>(parent, "approve", "Approve descriptions as crab mcp diff has shown them",
                         "  crab mcp approve github\n  crab mcp approve github create_issue");
    server_name(approve, approve_options->name)->required();
    approve->add_option("entry", approve_options->entries, "Which (default: all that were shown)")
        ->type_name("ENTRY");
    asks(approve, *approve_options, Answer::kChange);
    mcp_logins(parent);
    mcp_files(parent);
}

void CommandLine::mcp_sandbox(CLI::App& add, McpAdd& options) {
    CLI::Option* const sandbox =
        add.add_flag("--sandbox", options.sandbox,
                     "Run the program in a sandbox: the system's files only, no network");
    repeated(&add, "--read", options.read, "PATH",
             "Path that it may read, repeatable (default: none)")
        ->needs(sandbox);
    repeated(&add, "--write", options.write, "PATH",
             "Path that it may change, repeatable (default: none)")
        ->needs(sandbox);
    add.add_option("--network", options.network, "Its network: none, host (default: none)")
        ->type_name("NETWORK")
        ->check(one_of({"none", "host"}))
        ->needs(sandbox);
    add.add_option("--privilege", options.privilege,
                   "minimal: no new processes; default (default: default)")
        ->type_name("LEVEL")
        ->check(one_of({"minimal", "default"}))
        ->needs(sandbox);
    add.add_option("--memory-bytes", options.memory_bytes,
                   "Memory of all its processes (default: any)")
        ->type_name("BYTES")
        ->needs(sandbox);
}

void CommandLine::mcp_logins(CLI::App& parent) {
    const auto whose = [](CLI::App* command, std::string& principal) {
        command
            ->add_option("--for", principal,
                         "Principal whose login it is, such as caller/ann (default: the gateway's, "
                         "which serves this machine's user)")
            ->type_name("PRINCIPAL");
    };
    auto [login, options] =
        leaf<McpLogin>(parent, "login", "Log in at an MCP server, in a browser",
                       "  crab mcp login github\n  crab mcp login github --for caller/ann");
    server_name(login, options->name)->required();
    whose(login, options->principal);
    login
        ->add_option("--port", options->port,
                     "Port of this machine that the browser comes back to (default: any)")
        ->type_name("PORT");
    asks(login, *options, Answer::kChange);
    auto [logout, logout_options] =
        leaf<McpLogout>(parent, "logout", "Forget a login at an MCP server",
                        "  crab mcp logout github\n  crab mcp logout github --for caller/ann");
    server_name(logout, logout_options->name)->required();
    whose(logout, logout_options->principal);
    asks(logout, *logout_options, Answer::kChange);
}

void CommandLine::mcp_files(CLI::App& parent) {
    auto [import, options] = leaf<McpImport>(
        parent, "import", "Add the MCP servers that another client's configuration names",
        "  crab mcp import --from claude-desktop\n  crab mcp import .vscode/mcp.json\n"
        "  crab mcp import --undo");
    CLI::Option* const file =
        import->add_option("file", options->file, "The client's file (default: that of --from)")
            ->type_name("PATH");
    import
        ->add_option("--from", options->from,
                     "Whose file it is (default: the name of the file says it): " + client_names())
        ->type_name("CLIENT")
        ->check(one_of(all_client_names()));
    import->add_flag("--yes", options->yes, "Do not ask; inputs without a value are left out");
    import->add_flag("--undo", options->undo, "Remove what the latest import added")
        ->excludes(file);
    local(import, options->target);
    auto [write, write_options] = leaf<McpExport>(
        parent, "export", "Write the entry that makes an MCP client use this gateway",
        "  crab mcp export --for claude-desktop --file ~/claude_desktop_config.json\n"
        "  crab mcp export --for vscode --at http://127.0.0.1:42617/mcp");
    write->add_option("--for", write_options->client, "The client: " + client_names())
        ->type_name("CLIENT")
        ->required()
        ->check(one_of(all_client_names()));
    write
        ->add_option("--file", write_options->file,
                     "Its file, into which the entry goes; a copy is kept (default: print it)")
        ->type_name("PATH");
    write
        ->add_option("--at", write_options->url,
                     "URL of the gateway (default: the client starts crab mcp stdio)")
        ->type_name("URL");
    write
        ->add_option("--scope", write_options->scope, "Only the tools of this scope (default: all)")
        ->type_name("NAME");
    auto [serve, serve_options] = leaf<McpServe>(
        parent, "stdio", "Be an MCP server on stdio, with the tools of the running gateway",
        "  crab mcp stdio");
    serve
        ->add_option("--scope", serve_options->scope, "Only the tools of this scope (default: all)")
        ->type_name("NAME");
    local(serve, serve_options->target);
}

}  // namespace crab::cli

#include "cli/command_line.hpp"
#include "cli/contexts.hpp"
#include "cli/output/report.hpp"
#include "cli/output/terminal.hpp"
#include "gateway/gateway_run.hpp"
#include "hosts/command/init/sandbox_init.hpp"

#include <csignal>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
    using namespace crab::cli;
    // not for people
    if (argc > 1 && std::string_view(argv[1]) == "sandbox-init")
        return crab::sandbox::run_sandbox_init(argc - 2, argv + 2);
    std::signal(SIGPIPE, SIG_IGN);
    const std::span<const char* const> arguments(argv + 1,
                                                 static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
    std::vector<std::string> notes;
    std::variant<std::unique_ptr<Command>, ParserOutput> parsed =
        parse_command_line(arguments, &notes);
    if (const auto* printed = std::get_if<ParserOutput>(&parsed)) {
        std::fputs(printed->text.c_str(),
                   printed->exit_code == 0 || printed->is_help ? stdout : stderr);
        return printed->exit_code;
    }
    for (const std::string& note : notes) complain(note);
    try {
        Command& command = *std::get<std::unique_ptr<Command>>(parsed);
        if (const auto settled = settle(command); !settled) return report(settled.error());
        return command.start(
            {.run = crab::gateway::run_gateway, .check = crab::gateway::check_gateway});
    } catch (const std::exception& error) {
        complain(std::string("internal error: ") + error.what());
        return 1;
    }
}

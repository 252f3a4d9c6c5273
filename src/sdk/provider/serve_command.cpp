#include "sdk/provider/serve_command.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include <unistd.h>

namespace crab::sdk {

int serve_command(ProviderTools& tools, const std::string& method) {
    cetp::MethodCall call{.method = method};
    if (method == cetp::kExecuteTool) {
        const auto variable = [](const char* name) {
            const char* value = std::getenv(name);
            return std::string(value != nullptr ? value : "");
        };
        const std::string args{std::istreambuf_iterator<char>(std::cin),
                               std::istreambuf_iterator<char>()};
        call = cetp::MethodCall::execute_tool(variable("CETP_TOOL_NAME"), args,
                                              variable("CETP_REQUEST_ID"));
    }
    const std::string reply = to_wire(tools.answer(call, {.uid = ::getuid(), .pid = ::getppid()}));
    return std::fwrite(reply.data(), 1, reply.size(), stdout) == reply.size() &&
                   std::fflush(stdout) == 0
               ? 0
               : 1;
}

}  // namespace crab::sdk

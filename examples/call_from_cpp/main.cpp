// Lists the tools of a gateway, or calls one: call_from_cpp GATEWAY [TOOL [ARGS]]
#include <crab/tool_client.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char** argv) try {
    const char* token = std::getenv("CRAB_TOKEN");
    crab::ToolClient client(argc > 1 ? argv[1] : "http://127.0.0.1:42617",
                            token != nullptr ? token : "");
    if (argc < 3) {
        const auto tools = client.list();
        if (!tools) {
            std::fprintf(stderr, "%s: %s\n", tools.error().code.c_str(),
                         tools.error().message.c_str());
            return 1;
        }
        for (const crab::ToolInfo& tool : *tools)
            std::printf("%s: %s\n", tool.name.c_str(), tool.description.c_str());
        return 0;
    }
    const crab::CallResult result =
        client.call(argv[2], argc > 3 ? argv[3] : "{}", {.timeout = std::chrono::seconds(10)});
    if (!result.ok()) {
        std::fprintf(stderr, "%s: %s\n", result.error.code.c_str(), result.error.message.c_str());
        return 1;
    }
    std::printf("%s\n", result.result.c_str());
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}

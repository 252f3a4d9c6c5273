// A tool host: a process whose tool a gateway calls, on a Unix socket or behind mutual TLS.
#include "crab/tool_host.hpp"

int main(int argc, char** argv) {
    crab::ToolHost host("weather");
    host.add({.name = "weather.today",
              .description = "Today's weather in a city",
              .input_schema = R"({"type":"object","required":["city"]})",
              .side_effects = false},
             [](const crab::ToolRequest& request) {
                 if (request.text("city") != "Bremerhaven")
                     return crab::ToolAnswer::error("INVALID_ARGS",
                                                    "only Bremerhaven is known here");
                 return crab::ToolAnswer::json(R"({"sky":"rain","celsius":11.5})");
             });
    // serve() says on standard error why it ends, if it was not asked to.
    if (argc == 4)
        return host.serve({.listen = argv[1], .gateway_key = argv[2], .state_dir = argv[3]});
    return host.serve_unix(argc > 1 ? argv[1] : "weather.sock");
}

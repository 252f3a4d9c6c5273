// A tool host for tests of crashes: `counting_host SOCKET STATE FILE [LISTEN KEY]`. Each run of a
// tool adds a line to FILE; with `{"hold":true}` a run goes on until the process ends, whatever it
// is told.
#include "crab/tool_host.hpp"

#include <fstream>
#include <semaphore>

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const std::string file = argv[3];
    const auto count = [file](const crab::ToolRequest& request) {
        std::ofstream(file, std::ios::app) << request.call_id() << std::endl;
        if (request.flag("hold") == true) std::binary_semaphore(0).acquire();
        return crab::ToolAnswer::json("{}");
    };
    crab::ToolHost host("counting");
    host.add({.name = "write", .description = "Counts its runs"}, count);
    host.add({.name = "put",
              .description = "Counts its runs, and a second one does no harm",
              .idempotent = true},
             count);
    host.add({.name = "narrow", .description = "One run at a time", .max_concurrency = 1}, count);
    return host.serve_unix(argv[1], argv[2]);
}

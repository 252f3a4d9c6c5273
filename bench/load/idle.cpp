#include "load/modes.hpp"

#include "load/payload.hpp"
#include "load/websocket.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace crab::bench {

void run_idle(Options options) {
    const Address gateway = parse_address(options.text("device"));
    const std::size_t wanted = options.count("count", 10'000);
    const std::string tokens_file = options.text("tokens");
    const bool tls = options.count("tls", 0) != 0;
    const bool tools = options.count("tools", 0) != 0;
    const std::size_t threads = std::max<std::size_t>(1, options.count("threads", 1));
    options.refuse_others();

    constexpr std::size_t kPerSourceAddress = 16'000;  // well below the 28 000 ports one address has
    std::vector<std::string> tokens;
    if (!tokens_file.empty()) {
        std::ifstream lines(tokens_file);
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty()) tokens.push_back(line);
        }
    }
    if (tokens.empty()) tokens.emplace_back();

    allow_descriptors(wanted + 32);
    std::vector<int> open;
    std::string failure;
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    const auto connect = [&] {
        for (std::size_t i = next++; i < wanted; i = next++) {
            try {
                const int source = wanted > kPerSourceAddress ? static_cast<int>(2 + i / kPerSourceAddress) : 0;
                Stream stream(gateway, tls, source);
                open_device(stream, gateway, tokens[i % tokens.size()], tools ? tool_name(i, wanted) : "");
                const std::scoped_lock lock(mutex);
                open.push_back(stream.release());
            } catch (const std::exception& reason) {
                const std::scoped_lock lock(mutex);
                if (failure.empty()) failure = reason.what();
                next = wanted;
            }
        }
    };
    std::vector<std::jthread> crowd;
    for (std::size_t i = 1; i < threads; ++i) crowd.emplace_back(connect);
    connect();
    crowd.clear();
    std::printf("{\"open\":%zu}\n", open.size());
    std::fflush(stdout);
    if (!failure.empty()) std::fprintf(stderr, "bench_load: after %zu devices: %s\n", open.size(), failure.c_str());
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    for (const int fd : open) ::close(fd);
}

}  // namespace crab::bench

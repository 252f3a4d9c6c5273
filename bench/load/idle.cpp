#include "load/modes.hpp"

#include "load/device.hpp"
#include "load/payload.hpp"
#include "load/websocket.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace crab::bench {
namespace {

/// A device that is registered.
struct Opened {
    std::size_t number;
    int fd;
    std::string already_read;
};

/// Answers calls to `opened` and never returns.
[[noreturn]] void answer_calls(const Address& gateway, const std::vector<std::string>& tokens,
                               std::size_t wanted, std::vector<Opened>& opened) {
    Loop loop;
    std::vector<std::unique_ptr<Device>> devices;
    for (const auto& [number, fd, already_read] : opened) {
        Device::Options options{.gateway = gateway,
                                .token = tokens[number % tokens.size()],
                                .tool = tool_name(number, wanted)};
        devices.push_back(std::make_unique<Device>(loop, std::move(options), fd, already_read));
    }
    while (true) loop.turn(Clock::now() + std::chrono::hours(1));
}

}  // namespace

void run_idle(Options options) {
    const Address gateway = parse_address(options.text("device"));
    const std::size_t wanted = options.count("count", 10'000);
    const std::string tokens_file = options.text("tokens");
    const bool tls = options.count("tls", 0) != 0;
    const bool tools = options.count("tools", 0) != 0;
    const std::size_t threads = std::max<std::size_t>(1, options.count("threads", 1));
    const bool answer = options.count("answer", 0) != 0;
    options.refuse_others();

    // well below the 28 000 ports one address has
    constexpr std::size_t kPerSourceAddress = 16'000;
    std::vector<std::string> tokens;
    if (!tokens_file.empty()) {
        std::ifstream lines(tokens_file);
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty()) tokens.push_back(line);
        }
    }
    if (tokens.empty()) tokens.emplace_back();

    allow_descriptors(wanted + 32);
    std::vector<Opened> opened;
    std::string failure;
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    const auto connect = [&] {
        for (std::size_t i = next++; i < wanted; i = next++) {
            try {
                const int source =
                    wanted > kPerSourceAddress ? static_cast<int>(2 + i / kPerSourceAddress) : 0;
                Stream stream(gateway, tls, source);
                std::string rest = open_device(stream, gateway, tokens[i % tokens.size()],
                                               tools ? tool_name(i, wanted) : "");
                const std::scoped_lock lock(mutex);
                opened.push_back({i, stream.release(), std::move(rest)});
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
    std::printf("{\"open\":%zu}\n", opened.size());
    std::fflush(stdout);
    if (!failure.empty())
        std::fprintf(stderr, "bench_load: after %zu devices: %s\n", opened.size(), failure.c_str());
    if (answer) answer_calls(gateway, tokens, wanted, opened);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
    for (const Opened& device : opened) ::close(device.fd);
}

}  // namespace crab::bench

#pragma once

#include "base/process/child.hpp"
#include "base/process/test_folder.hpp"
#include "net/loop/endpoint.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

namespace crab::bus::nats {

/// A NATS server of its own for one test, on a port of 127.0.0.1 that is free.
class TestNatsServer {
public:
    static bool is_installed() { return !find_program("nats-server").empty(); }

    /// `more`: further arguments.
    explicit TestNatsServer(std::vector<std::string> more = {}) : more_(std::move(more)) {
        start(-1);
    }
    ~TestNatsServer() { kill(); }

    net::SocketAddress address() const {
        return net::to_socket_address(net::Endpoint::tcp("127.0.0.1", port_)).value();
    }
    void kill() {
        if (!server_) return;
        if (server_->is_there()) server_->kill(SIGKILL);
        server_->reap();
        server_.reset();
    }
    /// On the port that it had.
    void start_again() { start(port_); }
    void signal(int number) { server_->kill(number); }

private:
    void start(int port) {
        std::vector<std::string> words{"nats-server",
                                       "-a",
                                       "127.0.0.1",
                                       "-p",
                                       std::to_string(port),
                                       "--ports_file_dir",
                                       folder_.path().string()};
        words.insert(words.end(), more_.begin(), more_.end());
        if (server_.emplace().start({.words = words,
                                     .file = find_program("nats-server"),
                                     .environment = {"PATH=/usr/bin:/bin"},
                                     .dies_with_thread = true}) != 0)
            throw std::runtime_error("nats-server did not start");
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!read_port()) {
            if (server_->has_ended() || std::chrono::steady_clock::now() > until)
                throw std::runtime_error("nats-server ended, or says no port");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    /// `{"nats":["nats://127.0.0.1:40213"]}`, in a file of its process.
    bool read_port() {
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
            std::ifstream file(entry.path());
            std::string text((std::istreambuf_iterator<char>(file)), {});
            const std::size_t at = text.find("127.0.0.1:");
            if (at == std::string::npos || text.find('}') == std::string::npos) continue;
            port_ = static_cast<std::uint16_t>(std::stoi(text.substr(at + 10)));
            return true;
        }
        return false;
    }

    const std::vector<std::string> more_;
    TestFolder folder_;
    std::optional<Child> server_;
    std::uint16_t port_ = 0;
};

}  // namespace crab::bus::nats

#pragma once

#include "base/process/child.hpp"
#include "base/process/subprocess.hpp"
#include "base/process/test_folder.hpp"
#include "store/postgres/connection.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

namespace crab::store::postgres {

/// A PostgreSQL server of its own for the tests of one process: in a temporary folder, on a Unix
/// socket in it, without durability. It ends with this process, however that ends. PostgreSQL does
/// not run as root: there it runs as the user of Debian's package.
class TestCluster {
public:
    /// The one of this process, made when it is first asked for. Null: PostgreSQL is not installed.
    static TestCluster* find() {
        static const std::unique_ptr<TestCluster> only = make();
        return only.get();
    }
    TestCluster(const TestCluster&) = delete;
    ~TestCluster() {
        if (server_.is_there()) server_.kill(SIGQUIT);  // at once: nothing has to survive
        server_.reap();
    }

    /// Of an empty database, that of a test which has ended if there is one: to make a database
    /// and to remove its files takes half a second.
    ConnectionOptions new_database() {
        if (const auto* now = testing::UnitTest::GetInstance()->current_test_info(); now != test_) {
            test_ = now;
            taken_ = 0;
        }
        const std::string name = fmt::format("test_{}", ++taken_);
        if (taken_ <= databases_) {
            empty(name);
            return database(name);
        }
        databases_ = taken_;
        execute("postgres", "CREATE DATABASE " + name);
        return database(name);
    }

private:
    explicit TestCluster(std::filesystem::path programs) : programs_(std::move(programs)) {}

    static std::unique_ptr<TestCluster> make() {
        std::vector<std::filesystem::path> versions;
        std::error_code missing;
        for (const auto& entry :
             std::filesystem::directory_iterator("/usr/lib/postgresql", missing))
            if (std::filesystem::exists(entry.path() / "bin/initdb"))
                versions.push_back(entry.path() / "bin");
        if (versions.empty()) return nullptr;
        auto made = std::unique_ptr<TestCluster>(new TestCluster(std::ranges::max(versions)));
        made->start();
        return made;
    }

    ConnectionOptions database(const std::string& name) const {
        return {.dsn = fmt::format("host={} user=crab dbname={}", folder_.path().string(), name)};
    }

    void execute(const std::string& name, const std::string& statement) {
        Connection connection(database(name));
        if (auto done = connection.execute(statement); !done)
            throw std::runtime_error(done.error().message);
    }

    void empty(const std::string& name) {
        execute("postgres", fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                        "WHERE datname = '{}'",
                                        name));
        execute(name, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    }

    /// Words that run `program` as somebody whom PostgreSQL accepts.
    std::vector<std::string> words(const char* program, std::vector<std::string> more) const {
        std::vector<std::string> all;
        if (user_ != nullptr) {
            all = {"setpriv", fmt::format("--reuid={}", user_->pw_uid),
                   fmt::format("--regid={}", user_->pw_gid), "--clear-groups", "--pdeathsig=QUIT"};
        }
        all.push_back((programs_ / program).string());
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    void start() {
        if (::geteuid() == 0) {
            user_ = ::getpwnam("postgres");
            if (user_ == nullptr) user_ = ::getpwnam("nobody");
            if (user_ == nullptr ||
                ::chown(folder_.path().c_str(), user_->pw_uid, user_->pw_gid) != 0)
                throw std::runtime_error("no user for PostgreSQL");
        }
        const std::string data = folder_ / "data", socket = folder_.path();
        const auto initialised = run_subprocess(
            {.argv = words("initdb", {"-D", data, "-U", "crab", "-A", "trust", "-E", "UTF8",
                                      "--locale=C", "--no-sync", "--no-instructions"}),
             .environment = {{"LC_ALL", "C"}}});
        if (!initialised || initialised->exit_status != 0)
            throw std::runtime_error("initdb: " +
                                     (initialised ? initialised->error_tail : "not started"));
        const std::vector<std::string> options{"-D", data,
                                               "-c", "listen_addresses=",
                                               "-c", "unix_socket_directories=" + socket,
                                               "-c", "fsync=off",
                                               "-c", "full_page_writes=off",
                                               "-c", "dynamic_shared_memory_type=mmap",
                                               "-c", "max_connections=60",
                                               "-c", "shared_buffers=32MB",
                                               "-c", "log_min_messages=fatal"};
        const auto program = words("postgres", options);
        if (server_.start({.words = program,
                           .file = find_program(program.front()),
                           .environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"},
                           .folder = data,
                           .dies_with_thread = true}) != 0)
            throw std::runtime_error("PostgreSQL did not start");
        await_server();
    }

    void await_server() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        Connection all(database("postgres"));
        while (!all.connect()) {
            if (server_.has_ended() || std::chrono::steady_clock::now() > until)
                throw std::runtime_error("PostgreSQL ended, or does not answer");
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }

    const std::filesystem::path programs_;
    const passwd* user_ = nullptr;  ///< null: this process's own
    TestFolder folder_;
    Child server_;
    const testing::TestInfo* test_ = nullptr;  ///< whose the databases in use are
    int databases_ = 0, taken_ = 0;
};

/// Cuts all other connections to a database again and again, while somebody works on it: a little
/// after every third step, so that work goes on between.
class ConnectionCutter {
public:
    explicit ConnectionCutter(ConnectionOptions options) : admin_(std::move(options)) {}
    ~ConnectionCutter() { over_ = true; }

    void step() { ++steps_; }

private:
    void run() {
        for (int next = 3; !over_; std::this_thread::yield()) {
            if (steps_ < next) continue;
            next = steps_ + 3;
            (void)admin_.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND datname = current_database()");
        }
    }

    Connection admin_;
    std::atomic<int> steps_{0};
    std::atomic<bool> over_{false};
    std::jthread thread_{[this] { run(); }};
};

}  // namespace crab::store::postgres

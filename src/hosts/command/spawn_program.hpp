#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace crab::command {

/// The descriptors of a new process: these three as its standard descriptors (-1: /dev/null), and
/// `kept` under their own numbers (-1 is ignored). All others are closed.
struct Inherited {
    std::array<int, 3> standard{-1, -1, -1};
    std::span<const int> kept;
    std::vector<std::string> environment{};   ///< `NAME=value`
};

/// Starts `program` with these arguments, including argv[0], default signal handlers, and its own
/// process group. Returns 0 and its id in `pid`, or an errno.
int spawn_program(const std::filesystem::path& program, std::vector<std::string> words,
                  Inherited inherited, pid_t& pid);

}  // namespace crab::command

#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace crab::command {

/// What a program that is started here inherits: these three as its standard descriptors (-1:
/// /dev/null), and `kept` under their own numbers
/// (-1 among them is nothing). All else that this process has open closes there.
struct Inherited {
    std::array<int, 3> standard{-1, -1, -1};
    std::span<const int> kept;
    std::vector<std::string> environment{};   ///< `NAME=value`
};

/// Starts `program` with these words, the first being its name, all signals at their defaults, in a
/// process group of its own. Returns 0 and its id in `pid`, or an errno.
int spawn_program(const std::filesystem::path& program, std::vector<std::string> words,
                  Inherited inherited, pid_t& pid);

}  // namespace crab::command

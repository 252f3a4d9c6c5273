#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace crab::config {

/// What is wrong at one place of the file. `message` says what and what to do; it never quotes a
/// value.
struct Problem {
    int line = 0;         ///< from 1; 0 when no line is known
    std::string pointer;  ///< RFC 6901 pointer of the value or the key; empty for the whole file
    std::string message;
};
using Problems = std::vector<Problem>;

/// Whether one of them is about that very place.
bool has_problem_at(const Problems& problems, std::string_view pointer);

/// `listen.admin.socket` or `rates[0].burst` for a pointer.
std::string key_path(std::string_view pointer);

/// All of them as one error, ordered by line, repeats dropped: kInvalidArgs, see load.hpp for its
/// form.
Error to_error(Problems problems, const std::filesystem::path& file);

}  // namespace crab::config

#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace crab::config {

/// A problem at one position of the file. `message` says what is wrong and what to do; it never
/// quotes a value.
struct Problem {
    int line = 0;         ///< from 1; 0 when no line is known
    std::string pointer;  ///< RFC 6901 pointer of the value or the key; empty for the whole file
    std::string message;
};
using Problems = std::vector<Problem>;

/// Whether there is a problem at exactly this pointer.
bool has_problem_at(const Problems& problems, std::string_view pointer);

/// `listen.admin.socket` or `rates[0].burst` for a pointer.
std::string key_path(std::string_view pointer);

/// Combines them into one error, ordered by line, without duplicates: kInvalidArgs, in the form
/// that load.hpp describes.
Error to_error(Problems problems, const std::filesystem::path& file);

}  // namespace crab::config

#pragma once

#include "base/result.hpp"
#include "json/element.hpp"
#include "json/value.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::command {

/// The arguments of a schema whose `format` is `worktree-path`: properties of the object, or items
/// of a property.
std::vector<std::string> worktree_path_arguments(const json::Value& input_schema);

/// Checks that `path` is inside the worktree, whose open directory is `worktree`: relative, without
/// `..`, not leading outside through a symbolic link, and a file or folder, not a device, pipe or
/// socket. A path that does not exist is accepted if no existing part of it leads outside. Errors:
/// kInvalidArgs naming `argument`. Source: docs/protocols/sw4rm.md, section 8.
Result<void> check_worktree_path(int worktree, std::string_view argument, std::string_view path);

/// check_worktree_path() for all `names` that are present in `arguments`.
Result<void> check_worktree_paths(int worktree, const std::vector<std::string>& names,
                                  json::Element arguments);

}  // namespace crab::command

#include "hosts/command/worktree_file.hpp"

#include "base/file.hpp"
#include "json/value.hpp"

#include <fmt/format.h>

namespace crab::command {

Result<Worktrees::Bindings> load_bindings(const std::filesystem::path& file) {
    const auto text = read_file(file);
    if (!text && text.error().code == ErrorCode::kNotFound) return Worktrees::Bindings();
    if (!text) return fail(ErrorCode::kUnavailable, text.error().message);
    const auto value = json::Value::parse(*text);
    if (!value || !value->as_object()) return fail(ErrorCode::kInternal, fmt::format("{} is no list of worktree bindings; mend or remove it", file.string()));
    Worktrees::Bindings bindings;
    for (const auto& [who, worktree] : *value->as_object()) {
        if (!worktree.as_string()) return fail(ErrorCode::kInternal, fmt::format("{} is no list of worktree bindings; mend or remove it", file.string()));
        bindings.emplace(who, *worktree.as_string());
    }
    return bindings;
}

Result<void> store_bindings(const std::filesystem::path& file, const Worktrees::Bindings& bindings) {
    json::Value value = json::Value::object();
    for (const auto& [who, worktree] : bindings) value.set(who, worktree);
    return replace_file(file, value.dump() + "\n");
}

}  // namespace crab::command

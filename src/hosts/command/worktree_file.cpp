#include "hosts/command/worktree_file.hpp"

#include "base/process/file.hpp"
#include "json/value.hpp"

#include <fmt/format.h>

namespace crab::command {

Result<Worktrees::Bindings> load_bindings(const std::filesystem::path& file) {
    const auto text = read_file(file);
    if (!text && text.error().code == ErrorCode::kNotFound) return Worktrees::Bindings();
    if (!text) return fail(ErrorCode::kUnavailable, text.error().message);
    const auto wrong = [&] {
        return fail(
            ErrorCode::kInternal,
            fmt::format("{} is not a list of worktree bindings; fix or remove it", file.string()));
    };
    const auto value = json::Value::parse(*text);
    if (!value || !value->as_object()) return wrong();
    Worktrees::Bindings bindings;
    for (const auto& [key, bound] : *value->as_object()) {
        if (bound.as_string()) {   // a file of before, where both stood side by side
            bindings.map_of(key).emplace(key, *bound.as_string());
            continue;
        }
        if (!bound.as_object() || (key != "principals" && key != "agents")) return wrong();
        auto& its = key == "principals" ? bindings.principals : bindings.agents;
        for (const auto& [who, worktree] : *bound.as_object()) {
            if (!worktree.as_string()) return wrong();
            its.emplace(who, *worktree.as_string());
        }
    }
    return bindings;
}

Result<void> store_bindings(const std::filesystem::path& file,
                            const Worktrees::Bindings& bindings) {
    json::Value value = json::Value::object();
    for (const auto& [key, its] :
         {std::pair("principals", &bindings.principals), std::pair("agents", &bindings.agents)}) {
        json::Value inside = json::Value::object();
        for (const auto& [who, worktree] : *its) inside.set(who, worktree);
        value.set(key, std::move(inside));
    }
    return replace_file(file, value.dump() + "\n");
}

}  // namespace crab::command

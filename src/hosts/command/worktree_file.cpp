#include "hosts/command/worktree_file.hpp"

#include "base/descriptor.hpp"
#include "json/value.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {

Result<Worktrees::Bindings> load_bindings(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return Worktrees::Bindings();
    std::ifstream stream(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    if (!stream) return fail(ErrorCode::kUnavailable, fmt::format("cannot read {}", file.string()));
    const auto value = json::Value::parse(text);
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
    const std::filesystem::path fresh = file.string() + ".new";
    const auto refused = [&] { return fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", file.string(), std::strerror(errno))); };
    const Descriptor output(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output.is_open() || !output.write_and_sync(value.dump() + "\n") || ::rename(fresh.c_str(), file.c_str()) != 0) return refused();
    const Descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open() || ::fsync(folder.get()) != 0) return refused();
    return {};
}

}  // namespace crab::command

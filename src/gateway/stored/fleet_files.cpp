#include "gateway/stored/fleet_files.hpp"

#include "base/process/file.hpp"

#include <fmt/format.h>

namespace crab::gateway {

Result<std::string> read_fleet_file(const std::filesystem::path& file, std::string_view key,
                                    std::size_t most) {
    auto text = read_file(file, most);
    if (!text)
        return fail(ErrorCode::kInvalidArgs, fmt::format("{}: {}", key, text.error().message));
    return text;
}

}  // namespace crab::gateway

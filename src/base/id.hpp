#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace crab {

/// A strongly typed identifier.
template <class Tag>
class Id {
public:
    Id() = default;
    explicit Id(std::string text) : text_(std::move(text)) {}
    const std::string& text() const { return text_; }
    bool empty() const { return text_.empty(); }
    friend auto operator<=>(const Id&, const Id&) = default;

private:
    std::string text_;
};

using TenantId = Id<struct TenantIdTag>;
using ChatSessionId = Id<struct ChatSessionIdTag>;

/// One live connection, unique for the lifetime of the process.
enum class ConnectionId : std::uint64_t {};

}  // namespace crab

template <class Tag>
struct std::hash<crab::Id<Tag>> {
    std::size_t operator()(const crab::Id<Tag>& id) const noexcept {
        return std::hash<std::string>{}(id.text());
    }
};

template <class Tag>
struct fmt::formatter<crab::Id<Tag>> : fmt::formatter<std::string_view> {
    auto format(const crab::Id<Tag>& id, fmt::format_context& context) const {
        return fmt::formatter<std::string_view>::format(id.text(), context);
    }
};

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::json {

/// Property names by number, for a look-up per member of an instance.
class PropertyTable {
public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    /// The number of `name`, which is new or known.
    std::uint32_t add(std::string_view name);

    std::size_t size() const { return names_.size(); }
    const std::string& name(std::uint32_t number) const { return names_[number]; }
    /// The number of `name`, or kNone.
    std::uint32_t find(std::string_view name) const;

private:
    static std::size_t hash(std::string_view name);
    void place(std::uint32_t number);

    std::vector<std::string> names_;
    // open addressing, a power of two, at most half full
    std::vector<std::uint32_t> slots_ = {kNone, kNone};
};

}  // namespace crab::json

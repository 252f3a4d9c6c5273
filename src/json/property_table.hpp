#pragma once

#include <cstddef>
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
    /// What a name is found by: all of one of at most 16 bytes, else a hash of it.
    struct Key {
        explicit Key(std::string_view name);
        bool operator==(const Key&) const = default;
        std::size_t hash() const;

        std::uint64_t head = 0, tail = 0;
        std::size_t size;
    };
    struct Slot {
        Key key{{}};
        std::uint32_t number = kNone;
    };
    static constexpr std::size_t kWhole = 16;  // bytes of a name that its key holds
    void place(std::uint32_t number);

    std::vector<std::string> names_;
    // open addressing, a power of two, at most half full
    std::vector<Slot> slots_ = std::vector<Slot>(2);
};

}  // namespace crab::json

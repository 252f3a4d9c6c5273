#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::net {

/// The fields of one header or trailer section, names in lower case, pseudo-fields among them; all
/// text in one buffer.
class Http2Fields {
public:
    void add(std::string_view name, std::string_view value) {
        places_.push_back({text_.size(), name.size(), value.size()});
        text_.append(name).append(value);
        size_ += name.size() + value.size() + 32;
    }
    /// The first of that name.
    std::optional<std::string_view> find(std::string_view name) const {
        for (const Place& place : places_) {
            if (place.name == name.size() &&
                std::string_view(text_).substr(place.at, place.name) == name)
                return value_of(place);
        }
        return std::nullopt;
    }
    bool has_more_than_one(std::string_view name) const {
        int found = 0;
        for (const Place& place : places_)
            found += std::string_view(text_).substr(place.at, place.name) == name ? 1 : 0;
        return found > 1;
    }
    /// As RFC 9113 section 6.5.2 counts it.
    std::size_t size() const { return size_; }
    bool empty() const { return places_.empty(); }

private:
    struct Place {
        std::size_t at, name, value;
    };
    std::string_view value_of(const Place& place) const {
        return std::string_view(text_).substr(place.at + place.name, place.value);
    }

    std::string text_;
    std::vector<Place> places_;
    std::size_t size_ = 0;
};

}  // namespace crab::net

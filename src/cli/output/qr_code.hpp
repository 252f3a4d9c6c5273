#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// A QR code of a short text, for the camera of a phone: byte mode, versions 1 to 10, error
/// correction level M. Source: ISO/IEC 18004:2015; clause and table numbers in the .cpp are its.
class QrCode {
public:
    static constexpr std::size_t kMostBytes = 213;

    /// The smallest code that holds `text`, with the mask of the least penalty; nothing for more
    /// than kMostBytes.
    static std::optional<QrCode> encode(std::string_view text);

    /// Modules along a side, without the quiet zone.
    int size() const { return size_; }
    bool is_dark(int row, int column) const { return module(row, column) != 0; }
    /// Lines of half blocks, two rows of modules to a line, with a quiet zone; dark modules are
    /// left blank and light ones drawn, so that it reads on a dark terminal; most phones take it
    /// inverted as well.
    std::string to_half_blocks() const;

private:
    explicit QrCode(int version);
    std::uint8_t& module(int row, int column) {
        return modules_[static_cast<std::size_t>(row * size_ + column)];
    }
    std::uint8_t module(int row, int column) const {
        return modules_[static_cast<std::size_t>(row * size_ + column)];
    }
    void set_function(int row, int column, bool dark);
    void draw_finder(int row, int column);
    void draw_function_patterns();
    void draw_format(int mask);
    void draw_data(const std::vector<std::uint8_t>& codewords);
    void apply_mask(int mask);
    int penalty() const;

    int version_;
    int size_;
    std::vector<std::uint8_t> modules_;  // 1: dark
    std::vector<std::uint8_t> function_;  // 1: no place for data
};

}  // namespace crab::cli

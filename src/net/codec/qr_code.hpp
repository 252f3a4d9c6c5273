#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::net {

/// A QR code of a short text, for the camera of a phone: byte mode, error correction level M, drawn
/// by libqrencode.
class QrCode {
public:
    /// Capacity of version 10: 65 columns with its quiet zone, which fits a terminal.
    static constexpr std::size_t kMostBytes = 213;

    /// The smallest code that holds `text`; nothing for an empty one or one of more than
    /// kMostBytes.
    static std::optional<QrCode> encode(std::string_view text);

    /// Modules along a side, without the quiet zone.
    int size() const { return size_; }
    bool is_dark(int row, int column) const {
        return modules_[static_cast<std::size_t>(row * size_ + column)];
    }
    /// A line per row of modules, `1` for a dark one and `0` for a light one, without a quiet zone.
    std::vector<std::string> to_rows() const;
    /// Lines of half blocks, two rows of modules to a line, with a quiet zone; light modules are
    /// drawn and dark ones left blank, for dark terminals; most phones also read it inverted.
    std::string to_half_blocks() const;

private:
    QrCode(int size, std::vector<bool> modules) : size_(size), modules_(std::move(modules)) {}

    int size_;
    std::vector<bool> modules_;  // row by row; true: dark
};

}  // namespace crab::net

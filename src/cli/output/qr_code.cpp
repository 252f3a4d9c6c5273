#include "cli/output/qr_code.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

namespace crab::cli {
namespace {

constexpr int kMostVersion = 10;
constexpr int kQuietZone = 4;  // clause 6.3.8

/// Tables 1 and 9 for level M, and annex E.
struct Version {
    int total_codewords;
    int check_codewords;  // of each block
    int blocks;
    std::array<int, 3> alignment;  // centres of the alignment patterns; 0: none
};
constexpr std::array<Version, kMostVersion + 1> kVersions{{{},
                                                           {26, 10, 1, {}},
                                                           {44, 16, 1, {6, 18}},
                                                           {70, 26, 1, {6, 22}},
                                                           {100, 18, 2, {6, 26}},
                                                           {134, 24, 2, {6, 30}},
                                                           {172, 16, 4, {6, 34}},
                                                           {196, 18, 4, {6, 22, 38}},
                                                           {242, 22, 4, {6, 24, 42}},
                                                           {292, 22, 5, {6, 26, 46}},
                                                           {346, 26, 5, {6, 28, 50}}}};

int data_codewords(const Version& version) {
    return version.total_codewords - version.check_codewords * version.blocks;
}
int length_bits(int version) { return version < 10 ? 8 : 16; }  // table 3, byte mode

/// Product in GF(256) modulo x^8 + x^4 + x^3 + x^2 + 1.
std::uint8_t multiply(unsigned left, unsigned right) {
    unsigned product = 0;
    for (int bit = 7; bit >= 0; --bit) {
        product = (product << 1) ^ (product >> 7) * 0x11Du;
        product ^= (right >> bit & 1u) * left;
    }
    return static_cast<std::uint8_t>(product);
}

/// The remainder of `data` by the generator polynomial of that degree (clause 7.5.2).
std::vector<std::uint8_t> check_bytes(std::span<const std::uint8_t> data, int degree) {
    std::vector<std::uint8_t> generator(static_cast<std::size_t>(degree));
    generator.back() = 1;
    std::uint8_t root = 1;
    for (int i = 0; i < degree; ++i) {
        for (std::size_t j = 0; j < generator.size(); ++j) {
            generator[j] = multiply(generator[j], root);
            if (j + 1 < generator.size()) generator[j] ^= generator[j + 1];
        }
        root = multiply(root, 2);
    }
    std::vector<std::uint8_t> rest(generator.size());
    for (const std::uint8_t byte : data) {
        const std::uint8_t factor = byte ^ rest.front();
        std::ranges::rotate(rest, rest.begin() + 1);
        rest.back() = 0;
        for (std::size_t j = 0; j < rest.size(); ++j) rest[j] ^= multiply(generator[j], factor);
    }
    return rest;
}

class Bits {
public:
    void add(unsigned value, int count) {
        for (int bit = count - 1; bit >= 0; --bit) {
            if (used_ % 8 == 0) bytes.push_back(0);
            bytes.back() =
                static_cast<std::uint8_t>(bytes.back() | (value >> bit & 1u) << (7 - used_ % 8));
            ++used_;
        }
    }
    std::vector<std::uint8_t> bytes;

private:
    int used_ = 0;
};

/// The text as data codewords, padded (clause 7.4).
std::vector<std::uint8_t> data_of(std::string_view text, int version) {
    constexpr unsigned kByteMode = 4;
    Bits bits;
    bits.add(kByteMode, 4);
    bits.add(static_cast<unsigned>(text.size()), length_bits(version));
    for (const char byte : text) bits.add(static_cast<std::uint8_t>(byte), 8);
    const auto capacity =
        static_cast<std::size_t>(data_codewords(kVersions[static_cast<std::size_t>(version)]));
    // the terminator; without room for all of it the zeros that are there do
    if (bits.bytes.size() < capacity) bits.add(0, 4);
    for (unsigned pad = 0xEC; bits.bytes.size() < capacity; pad ^= 0xEC ^ 0x11)
        bits.bytes.push_back(static_cast<std::uint8_t>(pad));
    return std::move(bits.bytes);
}

/// Blocks with their check bytes, interleaved (clause 7.6). The later blocks hold one byte more
/// where they are not all equal.
std::vector<std::uint8_t> codewords_of(std::span<const std::uint8_t> data, const Version& version) {
    const std::size_t blocks = static_cast<std::size_t>(version.blocks);
    const std::size_t shorter = data.size() / blocks;
    const std::size_t longer_from = blocks - data.size() % blocks;
    std::vector<std::span<const std::uint8_t>> parts;
    std::vector<std::vector<std::uint8_t>> checks;
    for (std::size_t i = 0, at = 0; i < blocks; ++i) {
        const std::size_t length = shorter + (i >= longer_from ? 1 : 0);
        parts.push_back(data.subspan(at, length));
        checks.push_back(check_bytes(parts.back(), version.check_codewords));
        at += length;
    }
    std::vector<std::uint8_t> all;
    for (std::size_t i = 0; i <= shorter; ++i) {
        for (const auto& part : parts) {
            if (i < part.size()) all.push_back(part[i]);
        }
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(version.check_codewords); ++i) {
        for (const auto& check : checks) all.push_back(check[i]);
    }
    return all;
}

/// Clause 7.8.2, table 10.
bool is_flipped(int mask, int row, int column) {
    switch (mask) {
        case 0: return (row + column) % 2 == 0;
        case 1: return row % 2 == 0;
        case 2: return column % 3 == 0;
        case 3: return (row + column) % 3 == 0;
        case 4: return (row / 2 + column / 3) % 2 == 0;
        case 5: return row * column % 2 + row * column % 3 == 0;
        case 6: return (row * column % 2 + row * column % 3) % 2 == 0;
        default: return ((row + column) % 2 + row * column % 3) % 2 == 0;
    }
}

/// `value` with its BCH check bits behind it (annexes C and D).
unsigned with_check_bits(unsigned value, int check_bits, unsigned generator) {
    unsigned rest = value;
    for (int i = 0; i < check_bits; ++i)
        rest = (rest << 1) ^ (rest >> (check_bits - 1) & 1u) * generator;
    return value << check_bits | rest;
}

}  // namespace

QrCode::QrCode(int version)
    : version_(version),
      size_(17 + 4 * version),
      modules_(static_cast<std::size_t>(size_ * size_)),
      function_(modules_.size()) {}

std::optional<QrCode> QrCode::encode(std::string_view text) {
    int version = 1;
    const auto fits = [&] {
        return 4 + length_bits(version) + 8 * static_cast<int>(text.size()) <=
               8 * data_codewords(kVersions[static_cast<std::size_t>(version)]);
    };
    if (text.size() > kMostBytes) return std::nullopt;
    while (!fits()) ++version;
    QrCode code(version);
    code.draw_function_patterns();
    code.draw_data(
        codewords_of(data_of(text, version), kVersions[static_cast<std::size_t>(version)]));
    int best = 0, least = 0;
    for (int mask = 0; mask < 8; ++mask) {
        code.draw_format(mask);
        code.apply_mask(mask);
        const int penalty = code.penalty();
        if (mask == 0 || penalty < least) best = mask, least = penalty;
        code.apply_mask(mask);  // off again
    }
    code.draw_format(best);
    code.apply_mask(best);
    return code;
}

void QrCode::set_function(int row, int column, bool dark) {
    module(row, column) = dark ? 1 : 0;
    function_[static_cast<std::size_t>(row * size_ + column)] = 1;
}

/// A finder pattern around its centre, with its separator as far as it is inside.
void QrCode::draw_finder(int row, int column) {
    for (int r = std::max(0, row - 4); r <= std::min(size_ - 1, row + 4); ++r) {
        for (int c = std::max(0, column - 4); c <= std::min(size_ - 1, column + 4); ++c) {
            const int ring = std::max(std::abs(r - row), std::abs(c - column));
            set_function(r, c, ring != 2 && ring != 4);
        }
    }
}

void QrCode::draw_function_patterns() {
    for (int i = 0; i < size_; ++i) {
        set_function(6, i, i % 2 == 0);
        set_function(i, 6, i % 2 == 0);
    }
    draw_finder(3, 3);
    draw_finder(3, size_ - 4);
    draw_finder(size_ - 4, 3);
    const auto& centres = kVersions[static_cast<std::size_t>(version_)].alignment;
    const int last = *std::ranges::max_element(centres);
    for (const int row : centres) {
        for (const int column : centres) {
            const bool at_a_finder = (row == 6 && column == 6) || (row == 6 && column == last) ||
                                     (row == last && column == 6);
            if (row == 0 || column == 0 || at_a_finder) continue;
            for (int r = -2; r <= 2; ++r) {
                for (int c = -2; c <= 2; ++c)
                    set_function(row + r, column + c, std::max(std::abs(r), std::abs(c)) != 1);
            }
        }
    }
    draw_format(0);  // keeps its place
    if (version_ >= 7) {
        const unsigned bits = with_check_bits(static_cast<unsigned>(version_), 12, 0x1F25);
        for (int i = 0; i < 18; ++i) {
            const bool dark = (bits >> i & 1u) != 0;
            set_function(i / 3, size_ - 11 + i % 3, dark);
            set_function(size_ - 11 + i % 3, i / 3, dark);
        }
    }
}

/// Clause 7.9: level and mask, twice, and the one module that is always dark.
void QrCode::draw_format(int mask) {
    constexpr unsigned kLevelM = 0;
    const unsigned bits =
        with_check_bits(kLevelM << 3 | static_cast<unsigned>(mask), 10, 0x537) ^ 0x5412u;
    const auto bit = [bits](int i) { return (bits >> i & 1u) != 0; };
    for (int i = 0; i < 6; ++i) set_function(i, 8, bit(i));
    set_function(7, 8, bit(6));
    set_function(8, 8, bit(7));
    set_function(8, 7, bit(8));
    for (int i = 9; i < 15; ++i) set_function(8, 14 - i, bit(i));
    for (int i = 0; i < 8; ++i) set_function(8, size_ - 1 - i, bit(i));
    for (int i = 8; i < 15; ++i) set_function(size_ - 15 + i, 8, bit(i));
    set_function(size_ - 8, 8, true);
}

/// Clause 7.7.3: in columns of two modules, from the right, up and down in turn, around what is
/// there already.
void QrCode::draw_data(const std::vector<std::uint8_t>& codewords) {
    std::size_t next = 0;
    for (int right = size_ - 1; right >= 1; right -= 2) {
        if (right == 6) right = 5;  // the timing pattern has that column for itself
        const bool upwards = ((right + 1) & 2) == 0;
        for (int step = 0; step < size_; ++step) {
            const int row = upwards ? size_ - 1 - step : step;
            for (int column = right; column >= right - 1; --column) {
                if (function_[static_cast<std::size_t>(row * size_ + column)] != 0 ||
                    next >= 8 * codewords.size())
                    continue;
                module(row, column) = codewords[next / 8] >> (7 - next % 8) & 1;
                ++next;
            }
        }
    }
}

void QrCode::apply_mask(int mask) {
    for (int row = 0; row < size_; ++row) {
        for (int column = 0; column < size_; ++column) {
            if (function_[static_cast<std::size_t>(row * size_ + column)] == 0 &&
                is_flipped(mask, row, column))
                module(row, column) ^= 1;
        }
    }
}

/// Clause 7.8.3: what a reader could stumble over.
int QrCode::penalty() const {
    int points = 0, dark = 0;
    const auto look_along = [&](auto at) {
        for (int line = 0; line < size_; ++line) {
            int run = 0;
            unsigned last_eleven = 0;
            for (int i = 0; i < size_; ++i) {
                const bool is_same = i > 0 && at(line, i) == at(line, i - 1);
                run = is_same ? run + 1 : 1;
                if (run == 5) points += 3;
                if (run > 5) points += 1;
                last_eleven = (last_eleven << 1 | at(line, i)) & 0x7FFu;
                // a finder with four light ones beside it
                if (i >= 10 && (last_eleven == 0x05D || last_eleven == 0x5D0)) points += 40;
            }
        }
    };
    look_along([this](int line, int i) { return unsigned{module(line, i)}; });
    look_along([this](int line, int i) { return unsigned{module(i, line)}; });
    for (int row = 0; row < size_; ++row) {
        for (int column = 0; column < size_; ++column) {
            dark += module(row, column);
            if (row == 0 || column == 0) continue;
            const int sum = module(row, column) + module(row - 1, column) +
                            module(row, column - 1) + module(row - 1, column - 1);
            if (sum == 0 || sum == 4) points += 3;
        }
    }
    return points + 10 * (std::abs(20 * dark - 10 * size_ * size_) / (size_ * size_));
}

std::string QrCode::to_half_blocks() const {
    const auto is_light = [this](int row, int column) {
        return row < 0 || column < 0 || row >= size_ || column >= size_ || !is_dark(row, column);
    };
    std::string text;
    for (int row = -kQuietZone; row < size_ + kQuietZone; row += 2) {
        for (int column = -kQuietZone; column < size_ + kQuietZone; ++column) {
            const bool upper = is_light(row, column), lower = is_light(row + 1, column);
            text += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
        }
        text += '\n';
    }
    return text;
}

}  // namespace crab::cli

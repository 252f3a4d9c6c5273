#include "cli/output/terminal.hpp"

#include "cli/output/exit_codes.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string_view sequence(Colour colour) {
    switch (colour) {
        case Colour::kPlain: return "";
        case Colour::kBold: return "\x1b[1m";
        case Colour::kDim: return "\x1b[2m";
        case Colour::kRed: return "\x1b[31m";
        case Colour::kGreen: return "\x1b[32m";
        case Colour::kYellow: return "\x1b[33m";
    }
    return "";
}

/// One character of UTF-8 and its bytes; a byte that begins none is one of its own.
struct Character {
    char32_t code = 0;
    std::size_t bytes = 1;
};

Character first_of(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const std::size_t bytes = byte(0) < 0xc2 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (bytes == 1 || bytes > text.size()) return {.code = byte(0)};
    char32_t code = byte(0) & (0xffU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {.code = byte(0)};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    return {.code = code, .bytes = bytes};
}

/// What a person does not see, or what makes others stand elsewhere than they are. Joiners are
/// needed within some scripts and emoji, never behind a letter of ASCII.
bool hides_something(char32_t code, bool behind_ascii) {
    struct Range {
        char32_t first, last;
    };
    static constexpr std::array<Range, 10> kHidden{{{0xad, 0xad},
                                                    {0x61c, 0x61c},
                                                    {0x180e, 0x180e},
                                                    {0x200b, 0x200b},
                                                    {0x200e, 0x200f},
                                                    {0x2028, 0x202e},
                                                    {0x2060, 0x206f},
                                                    {0xfeff, 0xfeff},
                                                    {0xfff9, 0xfffb},
                                                    {0xe0000, 0xe0fff}}};
    if (behind_ascii && (code == 0x200c || code == 0x200d)) return true;
    return std::ranges::any_of(
        kHidden, [&](const Range& range) { return range.first <= code && code <= range.last; });
}

}  // namespace

Terminal::Terminal(std::FILE* stream) : interactive_(::isatty(::fileno(stream)) == 1) {
    if (!interactive_) return;
    const char* no_colour = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    colour_ = (!no_colour || *no_colour == '\0') && term && std::string_view(term) != "dumb";
    winsize size{};
    width_ =
        ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

const Terminal& Terminal::out() {
    static const Terminal terminal(stdout);
    return terminal;
}

const Terminal& Terminal::err() {
    static const Terminal terminal(stderr);
    return terminal;
}

std::string Terminal::paint(Colour colour, std::string_view text) const {
    if (!colour_ || colour == Colour::kPlain) return std::string(text);
    return fmt::format("{}{}\x1b[0m", sequence(colour), text);
}

std::string printable(std::string_view text, Lines lines) {
    std::string out;
    bool behind_ascii = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte >= 0x80) {
            const Character read = first_of(text.substr(i));
            if (read.bytes > 1 && read.code < 0xa0) {  // C1 controls
                out += fmt::format("\\x{:02x}", static_cast<unsigned>(read.code));
            } else if (read.bytes > 1 && hides_something(read.code, behind_ascii)) {
                out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(read.code));
            } else {
                out += text.substr(i, read.bytes);
            }
            i += read.bytes - 1;
        } else if (byte == '\n' || byte == '\t' || byte == '\r') {
            if (lines == Lines::kJoin)
                out += ' ';
            else if (byte != '\r')
                out += text[i];
        } else if (byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out += text[i];
        }
        behind_ascii = byte < 0x80;
    }
    return out;
}

void complain(std::string_view message) {
    const std::string line = fmt::format("{} {}\n", Terminal::err().paint(Colour::kRed, "crab:"),
                                         printable(message, Lines::kKeep));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

int wrong_usage(std::string_view message) {
    complain(message);
    return kExitUsage;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(std::string_view text) {
    print(text);
    print("\n");
}

void print_foreign(std::string_view text) {
    if (Terminal::out().interactive())
        print(printable(text, Lines::kKeep));
    else
        print(text);
}

}  // namespace crab::cli

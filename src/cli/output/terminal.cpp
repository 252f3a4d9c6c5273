#include "cli/output/terminal.hpp"

#include "cli/output/exit_codes.hpp"
#include "json/unicode.hpp"

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
    char32_t before = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const json::CodePoint read = json::decode_utf8(text.substr(i));
        if (byte >= 0x80) {
            if (read.valid && read.value < 0xa0) {  // C1 controls
                out += fmt::format("\\x{:02x}", static_cast<unsigned>(read.value));
            } else if (read.valid && json::is_hidden(read.value, before)) {
                out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(read.value));
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
        before = read.valid ? read.value : 0;
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

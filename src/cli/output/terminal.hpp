#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace crab::cli {

enum class Colour : std::uint8_t { kPlain, kBold, kDim, kRed, kGreen, kYellow };

/// Capabilities of an output stream. Colour only on a terminal, unless NO_COLOR is set
/// (no-color.org) or TERM is `dumb`.
class Terminal {
public:
    explicit Terminal(std::FILE* stream);
    static const Terminal& out();
    static const Terminal& err();

    bool interactive() const { return interactive_; }
    std::size_t width() const { return width_; }  ///< columns; 0 when it is not a terminal
    std::string paint(Colour colour, std::string_view text) const;

private:
    bool interactive_ = false;
    bool colour_ = false;
    std::size_t width_ = 0;
};

/// Untrusted text with control characters escaped, so that it cannot control a terminal, and those
/// that hide or turn others around, so that it is what a person reads. Line ends
/// and tabs stay with `Lines::kKeep` and become spaces otherwise.
enum class Lines : std::uint8_t { kKeep, kJoin };
std::string printable(std::string_view text, Lines lines = Lines::kJoin);

/// `crab: <message>` on standard error.
void complain(std::string_view message);
/// The same for arguments that do not fit; returns kExitUsage.
int wrong_usage(std::string_view message);
void print(std::string_view text);      ///< to standard output
void print_line(std::string_view text); ///< with a line end
/// The same for text of elsewhere: printable() on a terminal, in a pipe as it is.
void print_foreign(std::string_view text);

}  // namespace crab::cli

#include "cli/output/table.hpp"

#include <algorithm>

namespace crab::cli {
namespace {

/// Code points, which is near enough to columns for names and sentences.
std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t width) {
    if (columns(text) <= width) return std::string(text);
    std::size_t end = 0, seen = 0;
    while (end < text.size() && seen + 1 < width) {
        ++end;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
        ++seen;
    }
    return std::string(text.substr(0, end)) + "…";
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::to_text(const Terminal& terminal, Head head) const {
    std::vector<std::size_t> widths;
    for (const std::string& title : head_)
        widths.push_back(head == Head::kShown ? columns(title) : 0);
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], columns(row[i]));
    }
    const auto line = [&](const std::vector<std::string>& cells, Colour colour) {
        std::string text;
        std::size_t at = 0;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const bool last = i + 1 == cells.size();
            const std::size_t room = terminal.width() > at + 8 ? terminal.width() - at : 8;
            const std::string cell = last && terminal.width() > 0 ? cut(cells[i], room) : cells[i];
            text += terminal.paint(colour, cell);
            if (!last) text.append(widths[i] - columns(cells[i]) + 2, ' ');
            at += widths[i] + 2;
        }
        while (text.ends_with(' ')) text.pop_back();
        return text + "\n";
    };
    std::string text = head == Head::kShown ? line(head_, Colour::kBold) : std::string();
    for (const auto& row : rows_) text += line(row, Colour::kPlain);
    return text;
}

}  // namespace crab::cli

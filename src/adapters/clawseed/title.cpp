#include "adapters/clawseed/title.hpp"

#include "base/ascii.hpp"

namespace crab::clawseed {
namespace {

constexpr std::size_t kMost = 60;

bool continues_a_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace

std::string title_from(std::string_view question) {
    std::string_view line;
    while (line.empty() && !question.empty()) {
        const std::size_t end = question.find('\n');
        line = trim(question.substr(0, end), kWhiteSpace);
        question = end == std::string_view::npos ? std::string_view() : question.substr(end + 1);
    }
    constexpr std::string_view kMore = "…";
    if (line.size() <= kMost) return std::string(line);
    std::size_t cut = kMost - kMore.size();
    while (cut > 0 && continues_a_character(line[cut])) --cut;
    const std::size_t space = line.substr(0, cut + 1).find_last_of(' ');
    if (space != std::string_view::npos && space > cut / 2) cut = space;
    return std::string(trim(line.substr(0, cut), kWhiteSpace)) + std::string(kMore);
}

}  // namespace crab::clawseed

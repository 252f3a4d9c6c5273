#include "adapters/mcp/wire/line_reader.hpp"

#include <utility>

namespace crab::mcp {
namespace {

constexpr std::size_t kWorthKeeping = 64 << 10;  // of memory between two lines

std::string_view without_cr(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

}  // namespace

StdioLine LineReader::next(std::string_view& in) {
    if (std::exchange(delivered_, false)) {
        begun_.clear();
        if (begun_.capacity() > kWorthKeeping) begun_.shrink_to_fit();
    }
    while (!oversize_ && !in.empty()) {
        const std::size_t end = in.find('\n');
        std::string_view line = in.substr(0, end);
        // one more for a CR that belongs to the line end
        oversize_ = begun_.size() + line.size() > max_line_ + 1;
        if (oversize_) break;
        in.remove_prefix(end == std::string_view::npos ? in.size() : end + 1);
        if (end == std::string_view::npos || !begun_.empty()) {
            begun_ += line;
            if (end == std::string_view::npos) return {};
            line = begun_;
            delivered_ = true;
        }
        line = without_cr(line);
        oversize_ = line.size() > max_line_;
        if (!oversize_ && !line.empty()) return {.kind = StdioLine::Kind::kLine, .text = line};
        begun_.clear();
        delivered_ = false;
    }
    if (!oversize_) return {};
    in = {};
    return {.kind = StdioLine::Kind::kOversize};
}

}  // namespace crab::mcp

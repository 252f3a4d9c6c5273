#include "adapters/mcp/wire/uri_template.hpp"

#include <vector>

namespace crab::mcp {
namespace {

constexpr std::string_view kOperators = "+#./;?&";

/// How far in the URI the parts of the template that were read may end, one flag for each length.
class Reached {
public:
    explicit Reached(std::string_view uri) : uri_(uri), ends_(uri.size() + 1) { ends_[0] = true; }

    void literal(char c) {
        for (std::size_t i = uri_.size(); i > 0; --i) ends_[i] = ends_[i - 1] && uri_[i - 1] == c;
        ends_[0] = false;
    }
    /// At least one character, none of them a slash.
    void segment() {
        bool inside = false;
        for (std::size_t i = 0; i < uri_.size(); ++i) {
            const bool goes_on = (inside || ends_[i]) && uri_[i] != '/';
            ends_[i] = inside;
            inside = goes_on;
        }
        ends_[uri_.size()] = inside;
    }
    void anything() {
        bool reached = false;
        for (std::size_t i = 0; i <= uri_.size(); ++i) ends_[i] = reached = reached || ends_[i];
    }
    bool all() const { return ends_[uri_.size()]; }

private:
    const std::string_view uri_;
    std::vector<bool> ends_;
};

}  // namespace

std::optional<std::size_t> match_template(std::string_view uri_template, std::string_view uri) {
    Reached reached(uri);
    std::size_t literals = 0;
    while (!uri_template.empty()) {
        if (uri_template.front() != '{') {
            reached.literal(uri_template.front());
            ++literals;
            uri_template.remove_prefix(1);
            continue;
        }
        const std::size_t end = uri_template.find('}');
        if (end == std::string_view::npos || end == 1) return std::nullopt;
        if (kOperators.contains(uri_template[1])) {
            reached.anything();
        } else {
            reached.segment();
        }
        uri_template.remove_prefix(end + 1);
    }
    return reached.all() ? std::optional(literals) : std::nullopt;
}

}  // namespace crab::mcp

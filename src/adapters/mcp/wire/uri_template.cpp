#include "adapters/mcp/wire/uri_template.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace crab::mcp {
namespace {

constexpr std::string_view kOperators = "+#./;?&";
constexpr std::size_t kBytesOfStep = 16;

/// Where in the URI the parts of the template that were read may end, ascending.
class Reached {
public:
    Reached(std::string_view uri, MatchBudget& budget) : uri_(uri), budget_(budget) {}

    void literal(std::string_view text) {
        // its length may be compared at each place
        if (!budget_.take(ends_.size() * (1 + text.size() / kBytesOfStep))) return ends_.clear();
        std::size_t kept = 0;
        for (const std::size_t end : ends_)
            if (uri_.substr(end).starts_with(text)) ends_[kept++] = end + text.size();
        ends_.resize(kept);
    }
    /// At least one character, none of them a slash.
    void segment() {
        std::vector<std::size_t> next;
        std::size_t at = 0;  // places before it are known
        for (const std::size_t end : ends_) {
            at = std::max(at, end + 1);
            while (at <= uri_.size() && uri_[at - 1] != '/') next.push_back(at++);
        }
        move_to(std::move(next));
    }
    void anything() {
        std::vector<std::size_t> next;
        if (!ends_.empty())
            for (std::size_t at = ends_.front(); at <= uri_.size(); ++at) next.push_back(at);
        move_to(std::move(next));
    }
    bool none() const { return ends_.empty(); }
    bool all() const { return !ends_.empty() && ends_.back() == uri_.size(); }

private:
    void move_to(std::vector<std::size_t> next) {
        ends_ = std::move(next);
        if (!budget_.take(1 + ends_.size())) ends_.clear();
    }

    const std::string_view uri_;
    MatchBudget& budget_;
    std::vector<std::size_t> ends_{0};
};

}  // namespace

std::optional<std::size_t> match_template(std::string_view uri_template, std::string_view uri,
                                          MatchBudget& budget) {
    Reached reached(uri, budget);
    std::size_t literals = 0;
    while (!uri_template.empty() && !reached.none()) {
        if (uri_template.front() != '{') {
            const std::string_view text = uri_template.substr(0, uri_template.find('{'));
            reached.literal(text);
            literals += text.size();
            uri_template.remove_prefix(text.size());
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

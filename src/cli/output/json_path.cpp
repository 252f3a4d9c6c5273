#include "cli/output/json_path.hpp"

#include "json/number.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace crab::cli {
namespace {

using Found = std::vector<const json::Value*>;

constexpr std::size_t kMostTemplate = 4096;
constexpr std::size_t kMostDepth = 8;
constexpr std::size_t kMostFound = 1'000'000;
constexpr std::size_t kMostText = std::size_t{64} << 20;

enum class Comparison : std::uint8_t { kExists, kEqual, kUnequal, kLess, kAtMost, kMore, kAtLeast };

/// One step of a path.
struct Step {
    enum class Kind : std::uint8_t { kMembers, kEvery, kDeep, kSlice, kFilter };
    Kind kind = Kind::kEvery;
    std::vector<std::string> names{};  ///< of kMembers; of kDeep one, or none for every value
    std::optional<std::int64_t> from{}, to{};
    bool single = false;  ///< kSlice: `[from]`
    std::vector<Step> left{};  ///< of kFilter
    Comparison comparison = Comparison::kExists;
    json::Value right{};
};

/// Negative indexes count from the end.
std::size_t index_in(std::int64_t index, std::size_t size) {
    const auto end = static_cast<std::int64_t>(size);
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(index < 0 ? index + end : index, 0, end));
}

void add_deep(const json::Value& value, const Step& step, Found& found) {
    if (found.size() >= kMostFound) return;
    if (step.names.empty()) found.push_back(&value);
    if (const auto* members = value.as_object()) {
        for (const auto& [name, member] : *members) {
            if (!step.names.empty() && name == step.names[0]) found.push_back(&member);
            add_deep(member, step, found);
        }
    } else if (const auto* items = value.as_array()) {
        for (const json::Value& item : *items) add_deep(item, step, found);
    }
}

bool holds(const Step& step, const json::Value& item);

void add_step(const json::Value& value, const Step& step, Found& found) {
    const auto* members = value.as_object();
    const auto* items = value.as_array();
    switch (step.kind) {
        case Step::Kind::kMembers:
            for (const std::string& name : step.names) {
                if (const json::Value* member = value.find(name)) found.push_back(member);
            }
            return;
        case Step::Kind::kEvery:
            if (items)
                for (const json::Value& item : *items) found.push_back(&item);
            if (members)
                for (const auto& [_, member] : *members) found.push_back(&member);
            return;
        case Step::Kind::kDeep: return add_deep(value, step, found);
        case Step::Kind::kSlice: {
            if (!items) return;
            if (step.single) {
                const std::int64_t at = *step.from < 0
                                            ? *step.from + static_cast<std::int64_t>(items->size())
                                            : *step.from;
                if (at >= 0 && std::cmp_less(at, items->size()))
                    found.push_back(&(*items)[static_cast<std::size_t>(at)]);
                return;
            }
            const std::size_t end = step.to ? index_in(*step.to, items->size()) : items->size();
            for (std::size_t i = index_in(step.from.value_or(0), items->size()); i < end; ++i)
                found.push_back(&(*items)[i]);
            return;
        }
        case Step::Kind::kFilter:
            if (!items) return;
            for (const json::Value& item : *items) {
                if (holds(step, item)) found.push_back(&item);
            }
            return;
    }
}

Found follow_path(const std::vector<Step>& path, const json::Value& from) {
    Found found{&from};
    for (const Step& step : path) {
        Found next;
        for (const json::Value* value : found) {
            if (next.size() >= kMostFound) break;
            add_step(*value, step, next);
        }
        found = std::move(next);
    }
    return found;
}

bool holds(const Step& step, const json::Value& item) {
    const Found left = follow_path(step.left, item);
    if (left.empty() || step.comparison == Comparison::kExists) return !left.empty();
    const json::Value& value = *left[0];
    if (step.comparison == Comparison::kEqual) return value == step.right;
    if (step.comparison == Comparison::kUnequal) return !(value == step.right);
    std::partial_ordering order = std::partial_ordering::unordered;
    if (value.is_number() && step.right.is_number())
        order = json::compare(*value.as_number(), *step.right.as_number());
    else if (value.as_string() && step.right.as_string())
        order = *value.as_string() <=> *step.right.as_string();
    switch (step.comparison) {
        case Comparison::kLess: return order < 0;
        case Comparison::kAtMost: return order <= 0;
        case Comparison::kMore: return order > 0;
        case Comparison::kAtLeast: return order >= 0;
        case Comparison::kExists:
        case Comparison::kEqual:
        case Comparison::kUnequal: break;
    }
    return false;
}

}  // namespace

struct JsonPath::Part {
    std::optional<std::string> text{};  ///< or
    std::vector<Step> path{};
    bool is_range = false;
    std::vector<Part> inside{};  ///< of a range
};

namespace {

class PathParser {
public:
    explicit PathParser(std::string_view text) : text_(text) {}

    Result<std::vector<JsonPath::Part>> parse() {
        std::vector<JsonPath::Part> parts;
        if (!text_.empty() && text_.find('{') == std::string_view::npos &&
            std::string_view(".$[@").contains(text_[0])) {
            parts.push_back({.path = path()});
            if (at_ < text_.size()) complain_here("this is no path");
        } else {
            parts = parts_until_end(0);
            if (at_ < text_.size()) complain_here("{end} without {range}");
        }
        if (!problem_.empty()) return fail(ErrorCode::kInvalidArgs, problem_);
        return parts;
    }

private:
    bool done() const { return at_ >= text_.size() || !problem_.empty(); }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    void skip_blanks() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    void complain_here(std::string_view what) {
        if (problem_.empty()) problem_ = fmt::format("jsonpath: {} at character {}", what, at_ + 1);
    }

    /// Up to the end of the text, or within a range up to its {end}, which stays.
    std::vector<JsonPath::Part> parts_until_end(std::size_t depth) {
        std::vector<JsonPath::Part> parts;
        while (!done()) {
            if (text_[at_] != '{') {
                const std::size_t end = std::min(text_.find('{', at_), text_.size());
                parts.push_back({.text = std::string(text_.substr(at_, end - at_))});
                at_ = end;
                continue;
            }
            const std::size_t before = at_++;
            skip_blanks();
            if (take("end")) {
                at_ = before;
                return parts;
            }
            parts.push_back(in_braces(depth));
        }
        return parts;
    }

    void close() {
        skip_blanks();
        if (!take("}")) complain_here("} is missing");
    }

    JsonPath::Part in_braces(std::size_t depth) {
        JsonPath::Part part;
        if (take("range ")) {
            if (depth == kMostDepth) complain_here("ranges are nested too deep");
            skip_blanks();
            part.is_range = true;
            part.path = path();
            close();
            if (problem_.empty()) part.inside = parts_until_end(depth + 1);
            if (problem_.empty() && !take("{end}") && !take("{ end }"))
                complain_here("{end} is missing");
            return part;
        }
        if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''))
            part.text = quoted();
        else
            part.path = path();
        close();
        return part;
    }

    std::string quoted() {
        const char quote = text_[at_++];
        std::string out;
        for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
            if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
                out += text_[at_];
                continue;
            }
            const char next = text_[++at_];
            out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
        }
        if (!take(std::string_view(&quote, 1))) complain_here("the string does not end");
        return out;
    }

    std::string name() {
        std::string out;
        for (; at_ < text_.size() && !std::string_view(".[]{}()=!<>'\" ,").contains(text_[at_]);
             ++at_) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            out += text_[at_];
        }
        return out;
    }

    std::vector<Step> path() {
        std::vector<Step> steps;
        if (!take("$")) take("@");
        while (!done()) {
            if (take("..")) {
                Step step{.kind = Step::Kind::kDeep};
                if (take("*")) {
                    steps.push_back(step);
                    continue;
                }
                if (std::string found = name(); !found.empty()) step.names = {std::move(found)};
                steps.push_back(std::move(step));
            } else if (take(".")) {
                if (take("*")) {
                    steps.push_back({.kind = Step::Kind::kEvery});
                } else if (std::string found = name(); !found.empty()) {
                    steps.push_back({.kind = Step::Kind::kMembers, .names = {std::move(found)}});
                } else if (at_ < text_.size() && text_[at_] != '}' && text_[at_] != '[') {
                    complain_here("a name is missing");
                }
            } else if (take("[")) {
                steps.push_back(in_brackets());
                skip_blanks();
                if (problem_.empty() && !take("]")) complain_here("] is missing");
            } else {
                break;
            }
        }
        return steps;
    }

    std::optional<std::int64_t> number() {
        std::int64_t value = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error != std::errc()) return std::nullopt;
        at_ += static_cast<std::size_t>(end - begin);
        return value;
    }

    Step in_brackets() {
        skip_blanks();
        if (take("*")) return {.kind = Step::Kind::kEvery};
        if (take("?(")) return filter();
        if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
            Step step{.kind = Step::Kind::kMembers};
            do {
                skip_blanks();
                if (done() || (text_[at_] != '\'' && text_[at_] != '"')) {
                    complain_here("a quoted name is missing");
                    break;
                }
                step.names.push_back(quoted());
                skip_blanks();
            } while (take(","));
            return step;
        }
        Step step{.kind = Step::Kind::kSlice};
        step.from = number();
        step.single = !take(":");
        if (step.single && !step.from) complain_here("an index, a name in quotes or * is missing");
        if (!step.single) step.to = number();
        return step;
    }

    Step filter() {
        Step step{.kind = Step::Kind::kFilter};
        if (++nested_ > kMostDepth) complain_here("filters are nested too deep");
        skip_blanks();
        if (!text_.substr(at_).starts_with("@")) complain_here("a filter begins with @");
        step.left = path();
        skip_blanks();
        constexpr std::pair<std::string_view, Comparison> kWords[]{
            {"==", Comparison::kEqual},   {"!=", Comparison::kUnequal}, {"<=", Comparison::kAtMost},
            {">=", Comparison::kAtLeast}, {"<", Comparison::kLess},     {">", Comparison::kMore}};
        for (const auto& [word, comparison] : kWords) {
            if (!take(word)) continue;
            step.comparison = comparison;
            skip_blanks();
            step.right = literal();
            break;
        }
        skip_blanks();
        if (!take(")")) complain_here(") is missing");
        --nested_;
        return step;
    }

    json::Value literal() {
        if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) return quoted();
        const std::size_t end = std::min(text_.find_first_of(") ", at_), text_.size());
        const auto value = json::Value::parse(text_.substr(at_, end - at_));
        if (!value) {
            complain_here("a string in quotes or a number is missing");
            return {};
        }
        at_ = end;
        return *value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t nested_ = 0;
    std::string problem_;
};

bool append_parts(const std::vector<JsonPath::Part>& parts, const json::Value& root,
                  std::string& out) {
    for (const JsonPath::Part& part : parts) {
        if (out.size() > kMostText) return false;
        if (part.text) {
            out += *part.text;
            continue;
        }
        bool first = true;
        for (const json::Value* value : follow_path(part.path, root)) {
            if (out.size() > kMostText) return false;
            if (part.is_range) {
                if (!append_parts(part.inside, *value, out)) return false;
                continue;
            }
            if (!std::exchange(first, false)) out += ' ';
            if (value->as_string())
                out += *value->as_string();
            else
                value->append_to(out);
        }
    }
    return out.size() <= kMostText;
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
    if (text.empty() || text.size() > kMostTemplate)
        return fail(ErrorCode::kInvalidArgs, "jsonpath: a template has 1 to 4096 characters");
    auto parts = PathParser(text).parse();
    if (!parts) return fail(std::move(parts.error()));
    JsonPath path;
    path.parts_ = std::make_shared<const std::vector<Part>>(std::move(*parts));
    return path;
}

Result<std::string> JsonPath::text_for(const json::Value& root) const {
    std::string out;
    if (!append_parts(*parts_, root, out))
        return fail(ErrorCode::kOversize, "jsonpath: the text would have more than 64 MiB");
    return out;
}

std::vector<const json::Value*> JsonPath::find(const json::Value& root) const {
    for (const Part& part : *parts_) {
        if (!part.text) return follow_path(part.path, root);
    }
    return {};
}

}  // namespace crab::cli

#include "config/yaml_document.hpp"

#include "json/pointer.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

namespace crab::config {
namespace {

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::optional<json::Value> whole_number(std::string_view text, int base) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error == std::errc{} && end == text.data() + text.size()) return json::Value(number);
    return std::nullopt;
}

/// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_number(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (const std::size_t e = text.find_first_of("eE"); e != text.npos) {
        std::string_view exponent = text.substr(e + 1);
        if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
        if (!all_digits(exponent)) return false;
        text = text.substr(0, e);
    }
    const std::size_t dot = text.find('.');
    if (dot == text.npos) return all_digits(text);
    const std::string_view before = text.substr(0, dot), after = text.substr(dot + 1);
    if (before.empty()) return all_digits(after);
    return all_digits(before) && (after.empty() || all_digits(after));
}

/// Thrown through yaml-cpp, which has no other way to be stopped, and caught in read_yaml().
struct LimitExceeded {
    int line;
    std::string message;
};

/// Builds values from yaml-cpp's events; its own tree would cost more and forgets which strings
/// were quoted.
class Builder final : public YAML::EventHandler {
public:
    Builder(YamlDocument& document, Problems& problems, const YamlLimits& limits)
        : document_(document), problems_(problems), limits_(limits) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        add(mark, anchor, nullptr);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto known = anchors_.find(anchor);
        if (known == anchors_.end())
            throw LimitExceeded{mark.line + 1, "an alias may not stand inside what it names"};
        values_ += known->second.values - 1;  // add() counts one
        add(mark, 0, known->second.value);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        if (expects_key()) return begin_member(mark, text);
        const std::string pointer = next_pointer();
        if (tag == "?") {  // plain, as against quoted
            std::optional<json::Value> value = resolve_core_scalar(text);
            if (!value) problem(mark, pointer, "has to be a finite number");
            return add(mark, anchor, value ? std::move(*value) : json::Value());
        }
        if (tag != "!" && tag != "tag:yaml.org,2002:str")
            problem(mark, pointer, "tags are not supported; write the value without one");
        add(mark, anchor, text);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, anchor, json::Value::array());
    }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, anchor, json::Value::object());
    }
    void OnSequenceEnd() override { close(); }
    void OnMapEnd() override { close(); }

private:
    struct Frame {
        json::Value value;
        std::string pointer;
        YAML::anchor_t anchor;
        std::size_t values_before;
        std::optional<std::string> key;  // of the member whose value comes next
        bool repeated = false;           // that key was there already: its value is dropped
    };
    struct Anchored {
        json::Value value;
        std::size_t values;
    };

    bool expects_key() const {
        return !stack_.empty() && stack_.back().value.is_object() && !stack_.back().key;
    }

    void problem(const YAML::Mark& mark, std::string pointer, std::string message) {
        problems_.push_back({mark.line + 1, std::move(pointer), std::move(message)});
    }

    std::string next_pointer() const {
        if (stack_.empty()) return "";
        const Frame& top = stack_.back();
        const std::string step =
            top.key ? json::escape_pointer(*top.key)
                    : std::to_string(top.value.as_array() ? top.value.as_array()->size() : 0);
        return top.pointer + "/" + step;
    }

    void begin_member(const YAML::Mark& mark, const std::string& key) {
        Frame& top = stack_.back();
        top.key = key;
        top.repeated = top.value.find(key) != nullptr;
        if (top.repeated) {
            problem(mark, next_pointer(), "is set twice; remove one of them");
        } else {
            document_.lines[next_pointer()] = mark.line + 1;
        }
    }

    void count(const YAML::Mark& mark) {
        if (++values_ > limits_.max_values)
            throw LimitExceeded{mark.line + 1,
                                fmt::format("more than {} values", limits_.max_values)};
    }

    void open(const YAML::Mark& mark, YAML::anchor_t anchor, json::Value container) {
        if (expects_key()) throw LimitExceeded{mark.line + 1, "keys have to be strings"};
        if (stack_.size() >= limits_.max_depth)
            throw LimitExceeded{mark.line + 1,
                                fmt::format("nested deeper than {}", limits_.max_depth)};
        count(mark);
        std::string pointer = next_pointer();
        document_.lines.try_emplace(pointer, mark.line + 1);
        stack_.push_back(
            {std::move(container), std::move(pointer), anchor, values_ - 1, std::nullopt});
    }

    void close() {
        Frame done = std::move(stack_.back());
        stack_.pop_back();
        if (done.anchor != 0) anchors_[done.anchor] = {done.value, values_ - done.values_before};
        place(std::move(done.value));
    }

    void add(const YAML::Mark& mark, YAML::anchor_t anchor, json::Value value) {
        if (expects_key()) throw LimitExceeded{mark.line + 1, "keys have to be strings"};
        count(mark);
        document_.lines.try_emplace(next_pointer(), mark.line + 1);
        if (anchor != 0) anchors_[anchor] = {value, 1};
        place(std::move(value));
    }

    void place(json::Value value) {
        if (stack_.empty()) {
            document_.value = std::move(value);
            return;
        }
        Frame& top = stack_.back();
        if (!top.key) {
            top.value.push_back(std::move(value));
            return;
        }
        if (!top.repeated) top.value.set(*top.key, std::move(value));
        top.key.reset();
    }

    YamlDocument& document_;
    Problems& problems_;
    const YamlLimits& limits_;
    std::vector<Frame> stack_;
    std::map<YAML::anchor_t, Anchored> anchors_;
    std::size_t values_ = 0;
};

}  // namespace

int YamlDocument::line_of(std::string_view pointer) const {
    while (true) {
        if (const auto found = lines.find(pointer); found != lines.end()) return found->second;
        const std::size_t slash = pointer.rfind('/');
        if (slash == pointer.npos) return 0;
        pointer = pointer.substr(0, slash);
    }
}

std::optional<json::Value> resolve_core_scalar(std::string_view text) {
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
        return json::Value();
    if (text == "true" || text == "True" || text == "TRUE") return json::Value(true);
    if (text == "false" || text == "False" || text == "FALSE") return json::Value(false);
    if (text.starts_with("0o") || text.starts_with("0x")) {
        const bool digits =
            text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
        const std::optional<json::Value> number =
            digits ? whole_number(text.substr(2), text[1] == 'o' ? 8 : 16) : std::nullopt;
        return number ? *number : json::Value(text);
    }
    std::string_view magnitude = text;
    if (magnitude.starts_with('-') || magnitude.starts_with('+')) magnitude.remove_prefix(1);
    if (magnitude == ".inf" || magnitude == ".Inf" || magnitude == ".INF") return std::nullopt;
    if (text == ".nan" || text == ".NaN" || text == ".NAN") return std::nullopt;
    if (all_digits(magnitude)) {
        if (auto number = whole_number(text.starts_with('+') ? magnitude : text, 10)) return number;
    }
    if (!is_number(text)) return json::Value(text);
    double number = 0;
    const std::string_view digits = text.starts_with('+') ? magnitude : text;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{})
        return std::nullopt;
    return json::Value(number);
}

YamlDocument read_yaml(std::string_view text, Problems& problems, const YamlLimits& limits) {
    YamlDocument document;
    document.value = json::Value::object();
    if (text.size() > limits.max_bytes) {
        problems.push_back(
            {0, "", fmt::format("the file has more than {} bytes", limits.max_bytes)});
        return document;
    }
    Builder builder(document, problems, limits);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        if (parser.HandleNextDocument(builder) && parser) {
            YamlDocument second;
            Problems ignored;
            Builder rest(second, ignored, limits);
            if (parser.HandleNextDocument(rest))
                problems.push_back({0, "", "holds more than one document; keep one"});
        }
    } catch (const LimitExceeded& stop) {
        problems.push_back({stop.line, "", stop.message});
    } catch (const YAML::Exception& error) {
        problems.push_back(
            {error.mark.is_null() ? 0 : error.mark.line + 1, "", "is not YAML: " + error.msg});
    }
    if (document.value.is_null()) document.value = json::Value::object();
    return document;
}

}  // namespace crab::config

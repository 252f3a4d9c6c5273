#include "cli/output/listing.hpp"

#include "base/coded_text.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/json_path.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/report.hpp"
#include "config/yaml_text.hpp"
#include "json/number.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::chrono::seconds kWatchEvery{2};
/// To the upper left corner, and nothing below it.
constexpr std::string_view kClear = "\x1b[H\x1b[J";

std::string member_text(const json::Value& row, const std::string& member) {
    if (!member.starts_with('/')) return text_of(row, member);
    const json::Value* const value = row.resolve(member);
    if (value == nullptr || value->is_null()) return "";
    return value->as_string() ? *value->as_string() : value->dump();
}

/// Numbers by value before texts before what is not there.
bool is_less(const json::Value* left, const json::Value* right) {
    const auto rank = [](const json::Value* value) {
        return value == nullptr || value->is_null() ? 2 : value->is_number() ? 0 : 1;
    };
    if (rank(left) != rank(right)) return rank(left) < rank(right);
    if (rank(left) == 0) return json::compare(*left->as_number(), *right->as_number()) < 0;
    if (rank(left) == 2) return false;
    const auto text = [](const json::Value& value) {
        return value.as_string() ? *value.as_string() : value.dump();
    };
    return text(*left) < text(*right);
}

class ListPrinter {
public:
    ListPrinter(const Listing& listing, const Output& output)
        : listing_(listing), output_(output) {}

    /// The items of every member sorted, and in `rows` all of them.
    Result<void> take(json::Value answer) {
        rows_.clear();
        answer_ = std::move(answer);
        if (auto done = sort(); !done) return done;
        for (const std::string_view member : listing_.members) {
            for (const json::Value& row : items_of(answer_, member)) rows_.push_back(&row);
        }
        if (!path_ || listing_.members.size() < 2) return {};
        rows_ = sorted(rows_);
        return {};
    }

    int show() const {
        if (wants_names()) {
            for (const json::Value* row : rows_) print_line(printable(listing_.name(*row)));
            return kExitOk;
        }
        if (!output_.is_text()) return show_value(answer_, output_);
        Table table(titles());
        for (const json::Value* row : rows_) table.add(cells_of(*row));
        if (table.empty()) {
            if (!output_.no_headers && !listing_.empty.empty()) print_line(listing_.empty);
        } else {
            print(table.to_text(Terminal::out(), heads()));
        }
        if (!output_.no_headers && !listing_.footer.empty()) print(listing_.footer);
        return kExitOk;
    }

    /// Rows that are new, or other than they were; nothing for those that are gone.
    int show_changes() {
        std::map<std::string, std::vector<std::string>> now;
        Table table(titles());
        for (const json::Value* row : rows_) {
            const std::string name = listing_.name(*row);
            auto cells = cells_of(*row);
            const auto known = seen_.find(name);
            const bool changed = known == seen_.end() || known->second != cells;
            now[name] = cells;
            if (!changed) continue;
            if (wants_names()) {
                print_line(printable(name));
            } else if (!output_.is_text()) {
                if (const int code = show_value(*row, output_); code != kExitOk) return code;
            } else {
                table.add(std::move(cells));
            }
        }
        if (!table.empty())
            print(table.to_text(Terminal::out(), seen_.empty() ? heads() : Table::Head::kNone));
        seen_ = std::move(now);
        return kExitOk;
    }

private:
    bool wants_names() const {
        return output_ == Output::kName || (output_.quiet && output_.is_text());
    }
    Table::Head heads() const {
        return output_.no_headers ? Table::Head::kNone : Table::Head::kShown;
    }
    bool shows(const Listing::Column& column) const {
        return !column.wide || output_ == Output::kWide;
    }
    std::vector<std::string> titles() const {
        std::vector<std::string> all;
        for (const Listing::Column& column : listing_.columns) {
            if (shows(column)) all.push_back(column.title);
        }
        return all;
    }
    std::vector<std::string> cells_of(const json::Value& row) const {
        std::vector<std::string> all;
        for (const Listing::Column& column : listing_.columns) {
            if (shows(column)) all.push_back(column.cell(row));
        }
        return all;
    }
    const json::Value* key_of(const json::Value& row) const {
        const auto found = path_->find(row);
        return found.empty() ? nullptr : found[0];
    }
    /// Those that are alike stay in the order in which they came.
    std::vector<const json::Value*> sorted(const std::vector<const json::Value*>& rows) const {
        struct Place {
            const json::Value *key, *row;
        };
        std::vector<Place> places;
        for (const json::Value* row : rows) places.push_back({.key = key_of(*row), .row = row});
        std::ranges::stable_sort(places, is_less, &Place::key);
        std::vector<const json::Value*> in_order;
        for (const Place& place : places) in_order.push_back(place.row);
        return in_order;
    }
    /// Tells, once, that nothing is sorted: the path may be misspelt.
    void tell_unless_sorted(std::size_t rows, std::size_t keys) {
        if (rows == 0 || keys != 0 || std::exchange(told_, true)) return;
        complain(
            fmt::format("--sort-by: no row has `{}`; they stay as they came (-o json shows "
                        "what they have)",
                        output_.sort_by));
    }
    Result<void> sort() {
        if (output_.sort_by.empty()) return {};
        const std::string& asked = output_.sort_by;
        auto path =
            JsonPath::parse(asked.starts_with('{') || asked.starts_with('.') ? asked : "." + asked);
        if (!path) return fail(std::move(path.error()));
        path_ = std::move(*path);
        std::size_t rows = 0, keys = 0;
        for (const std::string_view member : listing_.members) {
            json::Value* const value = answer_.find(member);
            if (value == nullptr || value->as_array() == nullptr) continue;
            std::vector<const json::Value*> items;
            for (const json::Value& item : *value->as_array()) items.push_back(&item);
            rows += items.size();
            keys += static_cast<std::size_t>(std::ranges::count_if(
                items, [&](const json::Value* item) { return key_of(*item) != nullptr; }));
            json::Value::Items in_order;
            for (const json::Value* item : sorted(items)) in_order.push_back(*item);
            *value = json::Value::array(std::move(in_order));
        }
        tell_unless_sorted(rows, keys);
        return {};
    }

    const Listing& listing_;
    const Output& output_;
    std::optional<JsonPath> path_;
    bool told_ = false;
    json::Value answer_;
    std::vector<const json::Value*> rows_;
    std::map<std::string, std::vector<std::string>> seen_;
};

}  // namespace

std::function<std::string(const json::Value& row)> by_member(std::string member) {
    return
        [member = std::move(member)](const json::Value& row) { return member_text(row, member); };
}

Listing::Column column(std::string title, std::string member) {
    return {.title = std::move(title), .cell = by_member(std::move(member))};
}

Listing::Column wide_column(std::string title, std::string member) {
    return {.title = std::move(title), .cell = by_member(std::move(member)), .wide = true};
}

int show_list(const json::Value& answer, const Listing& listing, const Output& output) {
    ListPrinter printer(listing, output);
    if (const auto taken = printer.take(answer); !taken) return report(taken.error());
    return printer.show();
}

int show_list(const Fetch& fetch, const std::function<Listing(const json::Value& answer)>& listing,
              const Output& output) {
    Result<json::Value> answer = fetch();
    if (!answer) return report(answer.error());
    if (!output.watch) return show_list(*answer, listing(*answer), output);
    Listing shown;
    ListPrinter printer(shown, output);
    const bool in_place = output.is_text() && !output.quiet && Terminal::out().interactive();
    for (;;) {
        shown = listing(*answer);
        if (auto taken = printer.take(*answer); !taken) return report(taken.error());
        if (in_place) print(kClear);
        const int code = in_place ? printer.show() : printer.show_changes();
        if (code != kExitOk || std::fflush(stdout) != 0) return code;
        std::this_thread::sleep_for(kWatchEvery);
        answer = fetch();
        if (!answer) return report(answer.error());
    }
}

int show_list(const Fetch& fetch, const Listing& listing, const Output& output) {
    return show_list(fetch, [&](const json::Value&) { return listing; }, output);
}

int show_value(const json::Value& value, const Output& output) {
    if (output == Output::kYaml) return print_foreign(config::to_yaml(value)), kExitOk;
    if (output != Output::kJsonPath) return print_json(value), kExitOk;
    const auto path = JsonPath::parse(output.template_text);
    if (!path) return report(path.error());
    auto text = path->text_for(value);
    if (!text) return report(text.error());
    if (!text->empty() && !text->ends_with('\n')) *text += '\n';
    print_foreign(*text);
    return kExitOk;
}

void print_members(const json::Value& object, std::size_t width) {
    if (object.as_object() == nullptr) return print_json(object);
    for (const auto& [name, value] : *object.as_object()) {
        print_line(fmt::format("{:<{}}{}", printable(name), width,
                               printable(value.as_string() ? *value.as_string() : value.dump())));
    }
}

int show_done(const json::Value& answer, const Output& output, std::string_view name,
              std::string_view sentence) {
    if (output == Output::kName) return print_line(printable(name)), kExitOk;
    if (!output.is_text()) return show_value(answer, output);
    if (!output.quiet) print_line(printable(sentence, Lines::kKeep));
    return kExitOk;
}

}  // namespace crab::cli

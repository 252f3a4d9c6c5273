#pragma once

#include "base/result.hpp"
#include "cli/output/output.hpp"
#include "cli/output/table.hpp"
#include "json/value.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// What every list of the command line is: which members of an answer hold its rows, and what a
/// table shows of them. show_list() makes all forms of it.
struct Listing {
    struct Column {
        std::string title;
        std::function<std::string(const json::Value& row)> cell;
        bool wide = false;  ///< only in the form `wide`
    };
    std::vector<std::string_view> members;  ///< whose items are the rows, in this order
    std::function<std::string(const json::Value& row)> name;
    std::vector<Column> columns;
    std::string empty;  ///< the sentence in place of a table without rows
    std::string footer{};  ///< lines below the table
};

/// A column that shows one member, by its name or RFC 6901 pointer.
Listing::Column column(std::string title, std::string member);
Listing::Column wide_column(std::string title, std::string member);
std::function<std::string(const json::Value& row)> by_member(std::string member);

/// Prints `answer`, sorted, in the form that was asked for. Returns the exit code.
int show_list(const json::Value& answer, const Listing& listing, const Output& output);

/// Asks for the answer and prints it; with `--watch` again and again, then what has changed.
using Fetch = std::function<Result<json::Value>()>;
int show_list(const Fetch& fetch, const std::function<Listing(const json::Value& answer)>& listing,
              const Output& output);
int show_list(const Fetch& fetch, const Listing& listing, const Output& output);

/// Prints one value in a form that is not for people. Returns the exit code.
int show_value(const json::Value& value, const Output& output);
/// Prints the members of an object, one a line: what people get of one thing.
void print_members(const json::Value& object, std::size_t width);

/// What a command that changed something says: `sentence`, or nothing when it should be quiet, or
/// the gateway's answer.
int show_done(const json::Value& answer, const Output& output, std::string_view name,
              std::string_view sentence);

}  // namespace crab::cli

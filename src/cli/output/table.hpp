#pragma once

#include "cli/output/terminal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace crab::cli {

/// Rows in aligned columns. On a terminal the head is bold and the last column is cut to the width.
class Table {
public:
    explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
    /// One cell per column; control characters are escaped.
    void add(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    enum class Head : std::uint8_t { kShown, kNone };
    std::string to_text(const Terminal& terminal, Head head = Head::kShown) const;

private:
    std::vector<std::string> head_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace crab::cli

#pragma once

#include <cstdint>
#include <string>

namespace crab::cli {

/// How a command prints its answer: what `-o`, `--sort-by` and the like say.
struct Output {
    enum Form : std::uint8_t { kText, kWide, kName, kJson, kYaml, kJsonPath };

    Output() = default;
    Output(Form chosen) : form(chosen) {}

    Form form = kText;
    std::string template_text;  ///< of kJsonPath
    std::string sort_by;        ///< path of a member of the rows; empty: as they come
    bool no_headers = false;
    bool quiet = false;  ///< lists: names only; changes: nothing when they worked
    bool watch = false;  ///< lists: go on with what changes

    /// For people: a table or sentences.
    bool is_text() const { return form == kText || form == kWide; }
    friend bool operator==(const Output& output, Form other) { return output.form == other; }
};

}  // namespace crab::cli

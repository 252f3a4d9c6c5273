#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace crab::cli {

/// Lines typed at a terminal: edited as in a shell (Emacs keys), with those before them a key away,
/// also from one run to the next. Blocks. One at a time; the terminal is as it was between two
/// lines.
class LineEditor {
public:
    enum class End { kLine, kInterrupt, kEnd };
    struct Line {
        /// kInterrupt: Ctrl-C; kEnd: Ctrl-D on an empty line, or no terminal any more
        End end = End::kEnd;
        std::string text{};
    };

    /// `file` keeps what was typed, mode 0600; empty, or one that cannot be written: only this run
    /// remembers.
    LineEditor(std::string_view program, std::filesystem::path file);
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;
    ~LineEditor();

    /// `prompt` is plain text.
    Line read(std::string_view prompt);
    /// A line that is worth a key.
    void remember(const std::string& line);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace crab::cli

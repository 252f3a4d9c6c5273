#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace crab::cli {

/// Line editor for a terminal with Emacs keys and a persistent history. Blocks. One at a time; the
/// terminal is in its normal mode between lines.
class LineEditor {
public:
    enum class End { kLine, kInterrupt, kEnd };
    struct Line {
        /// kInterrupt: Ctrl-C; kEnd: Ctrl-D on an empty line, or the terminal is gone
        End end = End::kEnd;
        std::string text{};
    };

    /// `file` holds the history, mode 0600; if empty or not writable, the history is kept in memory
    /// only.
    LineEditor(std::string_view program, std::filesystem::path file);
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;
    ~LineEditor();

    /// `prompt` is plain text.
    Line read(std::string_view prompt);
    /// Adds a line to the history.
    void remember(const std::string& line);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace crab::cli

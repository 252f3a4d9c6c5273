#pragma once

#include "cli/commands.hpp"
#include "cli/tool_locations.hpp"
#include "json/value.hpp"

#include <chrono>
#include <map>
#include <string>

namespace crab::cli {

/// Shows the frames of one turn: the answer on standard output, everything else on standard error.
class ChatView {
public:
    ChatView(const Chat& options, ToolLocations& places) : options_(options), places_(places) {}

    /// False when the turn is over.
    bool show(const json::Value& frame);
    /// Ends the line of the answer, and says what went wrong. Returns the exit code.
    int finish();

private:
    void note(const std::string& text, std::string_view end = "\n");
    void end_line();
    void show_call(const json::Value& frame);
    void show_result(const json::Value& frame);

    const Chat& options_;
    ToolLocations& places_;
    std::map<std::string, std::chrono::steady_clock::time_point> started_;
    std::string failure_;
    int code_ = 0;
    bool begun_ = false;
    bool open_line_ = false;      ///< of the answer
    bool open_thought_ = false;   ///< the line of reasoning
};

}  // namespace crab::cli

#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace crab::fleet::simulation {

/// What happened, as one clock saw it.
enum class What : std::uint8_t {
    kInvoke,  ///< a caller asks: key, attempt
    kOk,  ///< … and is told a result: value
    kFail,  ///< … and is told an error that says that nothing was run: value is its code
    kUnknown,  ///< … and is told that it may have run, or is told nothing: value is the code
    kCommit,  ///< a ledger has admitted the key
    kAdopt,  ///< a node asks for the answer of what another has admitted
    kUnstored,  ///< a result could not be recorded: its caller may have it all the same
    kStart,  ///< a device begins: key, attempt, request
    kEnd,  ///< … and has done it: value
    kFault,  ///< somebody broke something: value says what
};

struct Happened {
    SteadyTime at;
    What what = What::kFault;
    std::string key = {};
    std::uint64_t attempt = 0;  ///< each call of a caller has another
    std::string value = {};
    std::string request = {};  ///< of a device
};

/// What a key stands for.
struct KeyKind {
    bool idempotent = false;
    bool recorded = true;  ///< a ledger knows it before it starts
};

using History = std::vector<Happened>;

/// Every way in which the history breaks a promise (docs/protocols/fleet.md, section 9), a sentence
/// each; none of a good one.
std::vector<std::string> check_history(const History& history,
                                       const std::map<std::string, KeyKind>& kinds);

/// A line for each thing that happened.
std::string text_of(const History& history);

}  // namespace crab::fleet::simulation

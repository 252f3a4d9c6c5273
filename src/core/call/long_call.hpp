#pragma once

#include "core/call/call.hpp"
#include "core/call/inquirer.hpp"

#include <string_view>

namespace crab::core {

/// The front's side of a call that may go on after its request, and after its gateway, while its
/// caller has a handle. Used on the event loop of the call's front, unless it says otherwise.
class LongCall {
public:
    virtual ~LongCall() = default;
    /// Its front may take it up in another run of the gateway: unless its tool has certainly no
    /// effects it is recorded on disk, so that it does not run twice.
    virtual bool outlives_gateway() const = 0;
    /// Work that the tool's host has promised in an earlier run of this call, by its own name for
    /// it: the host takes that up, and nothing runs again. From the front's own records.
    virtual std::string_view resumes() const = 0;
    /// It is left to the next run: being cancelled is no end, the work goes on, and in the ledger
    /// the call stays open. Any thread.
    virtual bool stays_open() const = 0;
    /// The call waits for an approval, with its id; with none when that is over.
    virtual void on_asked(std::string_view approval_id) = 0;
    /// The tool has said that its result will take long. `resume`: by which its host takes the work
    /// up again; empty: it cannot.
    virtual void on_deferred(std::string_view resume) = 0;
    /// Whether the caller has to have the result itself, and nobody here waits in its place.
    virtual bool refuses_deferred() const = 0;
};

/// Null: the call ends with its request, or its front waits for as long as it takes.
inline LongCall* long_call_of(const Call& call) {
    return call.inquirer != nullptr ? call.inquirer->long_call() : nullptr;
}
/// What its front has to have taken up again; empty: nothing.
inline std::string_view resumed_by(const Call& call) {
    const LongCall* const front = long_call_of(call);
    return front != nullptr ? front->resumes() : std::string_view();
}

}  // namespace crab::core

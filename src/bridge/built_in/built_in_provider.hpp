#pragma once

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/label_table.hpp"
#include "adapters/cetp/manifest.hpp"
#include "adapters/cetp/method_call.hpp"
#include "bridge/built_in/adapter.hpp"
#include "json/schema/schema.hpp"

#include <map>

namespace crab::bridge {

/// An adapter as a provider: the three methods of CETP, on the loop's thread. Source:
/// docs/protocols/cetp.md, sections 1 and 5.
class BuiltInProvider {
public:
    BuiltInProvider(const AdapterInfo& info, const Sources& sources);

    /// Always returns an envelope. `call` must stay valid until the end.
    Task<cetp::Envelope> answer(const cetp::MethodCall& call, Deadline deadline);

private:
    Task<cetp::Envelope> list(Deadline deadline);
    Task<cetp::Envelope> execute(const cetp::MethodCall& call, Deadline deadline);

    const AdapterInfo& info_;
    const Clock& clock_;
    const std::unique_ptr<Adapter> adapter_;
    std::map<std::string, std::shared_ptr<const json::Schema>> schemas_;  // by tool
};

/// The provider id of a built-in adapter: `crab.` and its label.
std::string built_in_id(const AdapterInfo& info);
/// The built-in providers as discovery sees them, before all others.
std::vector<cetp::Candidate> built_in_candidates();
/// Their labels.
cetp::LabelTable::Entries built_in_labels();

}  // namespace crab::bridge

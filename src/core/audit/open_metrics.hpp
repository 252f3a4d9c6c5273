#pragma once

#include <string>
#include <string_view>

namespace crab::core {

/// Metrics in Prometheus' text form (0.0.4) as OpenMetrics 1.0: the family of a counter has a name
/// without `_total`, and the page has an end. Samples, with their exemplars, stay as they are.
/// Source: https://prometheus.io/docs/specs/om/open_metrics_spec/
std::string to_open_metrics(std::string_view prometheus);

}  // namespace crab::core

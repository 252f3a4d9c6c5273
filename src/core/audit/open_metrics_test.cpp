#include "core/audit/open_metrics.hpp"

#include "core/audit/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(OpenMetrics, CountersLoseTheirSuffixInTheFamilyAloneAndThePageHasAnEnd) {
    EXPECT_EQ(to_open_metrics("# HELP a_total Of \"a\".\n# TYPE a_total counter\na_total 3\n"
                              "# HELP b A gauge.\n# TYPE b gauge\nb{x=\"1\"} 1.5\n"),
              "# TYPE a counter\n# HELP a Of \\\"a\\\".\na_total 3\n"
              "# TYPE b gauge\n# HELP b A gauge.\nb{x=\"1\"} 1.5\n# EOF\n");
    EXPECT_EQ(to_open_metrics(""), "# EOF\n");
}

TEST(OpenMetrics, ABucketHasTheExemplarOfItsCallsAndPrometheusTextHasNone) {
    CallMetrics metrics;
    metrics.count(SourceKind::kDevice, Status::kOk, 300us, 1, 1);
    MetricsPage page;
    page.add(metrics);
    page.set_exemplars([] {
        CallExemplars made;
        made[static_cast<std::size_t>(SourceKind::kDevice)][2] =
            Exemplar{.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736", .seconds = 0.0003, .at = 12.5};
        return made;
    });
    const std::string row = "crab_call_duration_seconds_bucket{source=\"device\",le=\"0.0005\"} 1";
    EXPECT_THAT(
        page.text(MetricsForm::kOpenMetrics),
        HasSubstr(row + " # {trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"} 0.0003 12.500\n"));
    EXPECT_THAT(page.text(), HasSubstr(row + "\n"));
    EXPECT_THAT(page.text(), Not(HasSubstr("trace_id")));
}

}  // namespace
}  // namespace crab::core

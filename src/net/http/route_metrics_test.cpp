#include "net/http/route_metrics.hpp"

#include "net/http/route_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::net {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

struct RouteMetricsTest : testing::Test {
    RouteTable table{"/lab"};
    RouteMetrics one, two;
    RouteMetricsTest() {
        for (const std::string_view path : {"/v1/tools", "/sessions/{id}", "/quiet"}) {
            table.add({.path = path, .summary = "test"});
            one.add_route();
            two.add_route();
        }
    }
    std::string text() const {
        std::string out;
        const ListenerMetrics listeners[] = {
            {.name = "public", .routes = &table, .loops = {&one, &two}}};
        append_route_metrics(out, listeners);
        return out;
    }
};

TEST_F(RouteMetricsTest, RequestsAreCountedByPatternOverAllLoops) {
    one.count(table.find("GET", "/lab/sessions/a"), 200, milliseconds(2));
    two.count(table.find("GET", "/lab/sessions/b"), 204, milliseconds(2));
    two.count(table.find("GET", "/lab/sessions/b"), 404, milliseconds(200));
    EXPECT_THAT(text(), HasSubstr("crab_http_requests_total{listener=\"public\",route=\"/sessions/"
                                  "{id}\",method=\"GET\",status=\"2xx\"} 2\n"));
    EXPECT_THAT(text(), HasSubstr("route=\"/sessions/{id}\",method=\"GET\",status=\"4xx\"} 1\n"));
    EXPECT_THAT(text(), HasSubstr("method=\"GET\",le=\"0.001\"} 0\n"));
    EXPECT_THAT(text(), HasSubstr("method=\"GET\",le=\"0.0025\"} 2\n"));
    EXPECT_THAT(text(), HasSubstr("method=\"GET\",le=\"+Inf\"} 3\n"));
    EXPECT_THAT(text(), HasSubstr("method=\"GET\"} 0.204\n"));
    EXPECT_THAT(text(), Not(HasSubstr("/quiet"))) << "what was never asked for has no rows";
}

TEST_F(RouteMetricsTest, PathsWithoutARouteShareOneLabel) {
    for (const std::string_view path : {"/x", "/lab/y?\"", "/lab/v1"})
        one.count(table.find("GET", path), 404, milliseconds(0));
    one.count(table.find("POST", "/lab/v1/tools"), 405, milliseconds(0));
    EXPECT_THAT(text(), HasSubstr("{listener=\"public\",route=\"other\",method=\"other\",status="
                                  "\"4xx\"} 4\n"));
    EXPECT_THAT(text(), Not(HasSubstr("/x")));
}

}  // namespace
}  // namespace crab::net

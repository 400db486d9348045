// A report's use of the host's files, of texts that name paths, and of its time.
#include "report/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "report/host_state.hpp"
#include "report/page/page.hpp"
#include "report/suite.hpp"

namespace garuda::report {
namespace {

namespace fs = std::filesystem;

/// A folder as /sys is.
class Sys {
 public:
  Sys() : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Sys() { fs::remove_all(folder_); }
  Sys(Sys const&) = delete;
  Sys& operator=(Sys const&) = delete;

  void put(std::string const& file, std::string const& text) const {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text << '\n';
  }
  fs::path const& folder() const { return folder_; }

 private:
  fs::path folder_;
};

TEST(HostState, KnowsNothingWithoutFiles) {
  Sys const sys;
  auto const host = host_json("P", read_host_state(sys.folder()), sys.folder());
  EXPECT_TRUE(host.at("power").is_null());
  EXPECT_TRUE(host.at("governor").is_null());
  EXPECT_TRUE(host.at("throttle_events").is_null());
  EXPECT_EQ(host.at("hottest_celsius").dump(), "[null,null]");
}

TEST(HostState, ReadsPowerHeatAndThrottling) {
  Sys const sys;
  sys.put("class/power_supply/AC/type", "Mains");
  sys.put("class/power_supply/AC/online", "0");
  sys.put("class/power_supply/BAT0/type", "Battery");
  sys.put("class/power_supply/BAT0/status", "Discharging");
  sys.put("class/power_supply/BAT0/capacity", "80");
  sys.put("class/power_supply/hid-mouse/type", "Battery");
  sys.put("class/power_supply/hid-mouse/scope", "Device");
  sys.put("class/thermal/thermal_zone0/temp", "41500");
  sys.put("class/thermal/thermal_zone1/temp", "not a number");
  sys.put("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  sys.put("devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
  auto const before = read_host_state(sys.folder());
  sys.put("class/thermal/thermal_zone0/temp", "90000");
  sys.put("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "10");
  auto host = host_json("P", before, sys.folder());
  EXPECT_EQ(host.at("power"), "battery, 80 %");
  EXPECT_EQ(host.at("hottest_celsius").dump(), "[41.5,90.0]");
  EXPECT_EQ(host.at("throttle_events"), 7);
  EXPECT_EQ(host.at("governor"), "powersave");
  sys.put("class/power_supply/BAT0/status", "Charging");
  EXPECT_EQ(host_json("P", before, sys.folder()).at("power"), "mains");
}

TEST(Report, CutsPathsOutOfTexts) {
  EXPECT_EQ(without_paths("cannot load /home/jane/lib.so: no such file"), "cannot load …: no such file");
  EXPECT_EQ(without_paths("'/a/b' and \"/c\" (/d)"), "'…' and \"…\" (…)");
  EXPECT_EQ(without_paths("/x"), "…");
  EXPECT_EQ(without_paths("12 GB/s, and/or"), "12 GB/s, and/or");
}

TEST(Suite, HasCellsOfDifferentNames) {
  std::set<std::string> ids;
  for (auto const& cell : suite()) EXPECT_TRUE(ids.insert(cell.id).second) << cell.id;
  EXPECT_EQ(ids.size(), 38U);
}

TEST(Budget, LeavesOutWhatTakesTooLong) {
  auto const cells = suite();
  auto const cell = [&](std::string_view id) -> SuiteCell const& {
    return *std::ranges::find(cells, id, &SuiteCell::id);
  };
  Budget budget(100);
  EXPECT_EQ(budget.allow({0, 1}, cell("join-16")).targets.size(), 2U);
  budget.took(0, cell("join-16"), 0.01);
  budget.took(1, cell("join-16"), 2);
  auto const larger = budget.allow({0, 1}, cell("join-18"));
  EXPECT_EQ(larger.targets, std::vector<std::size_t>{0}) << "eight runs of 8 s, of 25 s";
  ASSERT_EQ(larger.left_out.size(), 1U);
  EXPECT_NE(larger.left_out[0].second.find("would take about 64 s of the 100 s left"), std::string::npos)
      << larger.left_out[0].second;
  EXPECT_TRUE(Budget(0).allow({0}, cell("join-16")).targets.empty());
}

TEST(Page, EscapesWhatItIsGiven) {
  Page page;
  page.paragraph("<script>alert(1)</script> 2^20");
  page.charts({{"</figure>", Json{{"name", "</script><b>"}}}});
  auto const text = page.finish("<title>");
  EXPECT_EQ(text.find("<script>alert"), std::string::npos);
  EXPECT_NE(text.find("2<sup>20</sup>"), std::string::npos);
  EXPECT_NE(text.find("\\u003c/script>\\u003cb>"), std::string::npos) << "within the page's own script";
  EXPECT_NE(text.find("<title>&lt;title&gt;</title>"), std::string::npos);
}

}  // namespace
}  // namespace garuda::report

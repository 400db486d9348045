// Differences between two reports that are noise: by hand, and by simulated reports whose cells drift between visits.
#include "report/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace garuda::report {
namespace {

TEST(Change, IsToldFromTheNoiseOfOneVisit) {
  auto const result = [](double median_ms, double mad_ms, double least_ms = 0, double most_ms = 0) {
    return Json{{"median_ns", median_ms * 1e6},
                {"mad_ns", mad_ms * 1e6},
                {"min_ns", (least_ms == 0 ? median_ms : least_ms) * 1e6},
                {"max_ns", (most_ms == 0 ? median_ms : most_ms) * 1e6},
                {"samples", 5}};
  };
  EXPECT_EQ(change_of(result(10, 0.1), result(12, 0.1)), Change::slower);
  EXPECT_EQ(change_of(result(12, 0.1), result(10, 0.1)), Change::faster);
  EXPECT_EQ(change_of(result(10, 0.3), result(12, 0.2)), Change::slower) << "medians of five are surer than a sample";
  EXPECT_EQ(change_of(result(10, 0.6), result(12, 0.6)), Change::none);
  EXPECT_EQ(change_of(result(10, 0.1, 9.8, 11), result(12, 0.1, 9.9, 14)), Change::none) << "disturbed, mostly";
  EXPECT_EQ(change_of(result(10, 0.1, 9.8, 10.3), result(12, 0.1, 9.8, 10.3)), Change::slower) << "written by hand";
  EXPECT_EQ(change_of(result(10, 0), result(10.9, 0)), Change::none);
  EXPECT_EQ(change_of(result(26, 0.1, 25, 91), result(90, 0.1, 89, 92)), Change::none) << "times of two kinds";
  EXPECT_EQ(change_of(result(26, 0.1, 25, 28), result(90, 0.1, 89, 92)), Change::slower);
  EXPECT_EQ(change_of(result(0.1, 0), result(0.15, 0)), Change::none);
}

/// Cells of a report, and pairs of reports.
constexpr int kCells = 140;
constexpr int kPairs = 200;
constexpr double kFifth = 1.2;

/// A machine that is a little slower or faster whenever a cell is visited.
class Machine {
 public:
  Machine(std::uint64_t seed, std::function<double(int)> deviation) : random_(seed), deviation_(std::move(deviation)) {}

  /// A report's results; `disturbed`: of so many cells, the first ones, the first visit has two of seven samples that
  /// took up to twice as long.
  std::vector<Json> report(int disturbed, double times) {
    std::vector<Json> results;
    for (int cell = 0; cell < kCells; ++cell) {
      std::vector<double> all;
      auto visits = Json::array();
      for (int visit = 0; visit < 2; ++visit) {
        auto const drift = deviation_(cell) * normal_(random_);
        std::vector<double> samples;
        for (int i = 0; i < 7; ++i) samples.push_back(times * 1e7 * std::exp(drift + 0.01 * normal_(random_)));
        if (visit == 0 && cell < disturbed)
          for (int i = 0; i < 2; ++i) samples[static_cast<std::size_t>(i)] *= 1 + uniform_(random_);
        all.insert(all.end(), samples.begin(), samples.end());
        visits.push_back(summary(samples));
      }
      auto result = summary(all);
      result["min_ns"] = static_cast<std::uint64_t>(*std::ranges::min_element(all));
      result["max_ns"] = static_cast<std::uint64_t>(*std::ranges::max_element(all));
      result["visits"] = std::move(visits);
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  static double median(std::vector<double> values) {
    std::ranges::sort(values);
    auto const half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  }

  static Json summary(std::vector<double> const& samples) {
    auto const middle = median(samples);
    std::vector<double> distances;
    for (auto const sample : samples) distances.push_back(std::abs(sample - middle));
    return {{"median_ns", static_cast<std::uint64_t>(middle)},
            {"mad_ns", static_cast<std::uint64_t>(median(distances))},
            {"samples", samples.size()}};
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::function<double(int)> deviation_;
};

VisitNoise noise_of(std::vector<Json> const& results) {
  std::vector<Json const*> all;
  for (auto const& result : results) all.push_back(&result);
  return VisitNoise(all);
}

/// Shares of pairs with any change that is none, and of cells a fifth slower that are found.
struct Found {
  double false_alarms = 0;
  double slower = 0;
};

Found simulate(std::function<double(int)> deviation, int disturbed = 0) {
  constexpr std::uint64_t kSeed = 1;
  Machine machine(kSeed, std::move(deviation));
  Found found;
  for (int pair = 0; pair < kPairs; ++pair) {
    auto const first = machine.report(disturbed, 1);
    auto const same = machine.report(0, 1);
    auto const slower = machine.report(disturbed, kFifth);
    auto const noise = noise_of(first) + noise_of(same);
    auto const noise_of_slower = noise_of(first) + noise_of(slower);
    bool is_wrong = false;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      is_wrong = is_wrong || change_of(first[cell], same[cell], noise) != Change::none;
      if (change_of(first[cell], slower[cell], noise_of_slower) == Change::slower)
        found.slower += 1.0 / kPairs / kCells;
    }
    found.false_alarms += is_wrong ? 1.0 / kPairs : 0;
  }
  return found;
}

/// 1 to 5 %, by cell.
double mixed(int cell) { return 0.01 + 0.04 * cell / (kCells - 1); }

TEST(Change, IsToldFromDriftBetweenVisits) {
  for (auto const deviation : {0.01, 0.02, 0.03}) {
    auto const found = simulate([&](int) { return deviation; });
    EXPECT_LE(found.false_alarms, 0.1) << deviation;
    EXPECT_GE(found.slower, 0.85) << deviation;
  }
  auto const found = simulate(mixed);
  EXPECT_LE(found.false_alarms, 0.1);
  EXPECT_GE(found.slower, 0.85);
}

TEST(Change, IsFoundBesideDisturbedSamples) {
  constexpr int kDisturbed = kCells / 5;
  auto const found = simulate(mixed, kDisturbed);
  EXPECT_LE(found.false_alarms, 0.1);
  EXPECT_GE(found.slower, 0.85);
}

/// Two visits of 5 % leave too little to find a fifth by without false alarms: those it must not raise.
TEST(Change, IsNotClaimedWhereAllCellsDrift) {
  EXPECT_LE(simulate([](int) { return 0.05; }).false_alarms, 0.1);
}

TEST(VisitNoise, IsOfAllCellsAndOfBothReports) {
  auto const result = [](double first_ms, double second_ms) {
    auto const visit = [](double ms) { return Json{{"median_ns", ms * 1e6}, {"mad_ns", 0}, {"samples", 5}}; };
    auto const middle = (first_ms + second_ms) / 2;
    return Json{{"median_ns", middle * 1e6},
                {"min_ns", 1e6 * first_ms},
                {"max_ns", 1e6 * second_ms},
                {"mad_ns", 0},
                {"visits", {visit(first_ms), visit(second_ms)}},
                {"samples", 10}};
  };
  auto const steady = result(10, 10.01);
  auto const slower = result(12, 12.01);
  auto const noisy = noise_of({result(10, 11.5), result(20, 23), result(5, 5.75)});
  auto const quiet = noise_of({steady, steady, slower});
  EXPECT_EQ(change_of(steady, slower, quiet), Change::slower);
  EXPECT_EQ(change_of(steady, slower, noisy), Change::none) << "that its visits agree may be chance";
  EXPECT_DOUBLE_EQ((quiet + VisitNoise()).variance(), quiet.variance());
  EXPECT_DOUBLE_EQ((noisy + quiet).variance(), (noisy.variance() + quiet.variance()) / 2);
  EXPECT_EQ(change_of(result(10, 14), result(14.5, 15), quiet), Change::none);
}

}  // namespace
}  // namespace garuda::report

#include "report/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::report {
namespace {

/// Part of the time that is left which one cell may take: what comes is known within a factor of about three.
constexpr double kShare = 0.25;
/// Runs of a target: three samples of two, the run that is verified, and as much for comparing and digesting it.
constexpr double kLeastRuns = 8;
/// Rows of other data may take so many times the time of those that the prediction is from.
constexpr double kOtherData = 2;

}  // namespace

void Budget::took(std::size_t who, SuiteCell const& cell, double seconds) {
  auto const seconds_a_row = seconds / static_cast<double>(cell.rows());
  auto const [known, is_first] = seconds_a_row_.try_emplace({who, cell.is_join()}, seconds_a_row);
  if (!is_first && cell.series == kGrowth) known->second = seconds_a_row;
}

double Budget::expected(std::size_t who, SuiteCell const& cell) const {
  auto const known = seconds_a_row_.find({who, cell.is_join()});
  if (known == seconds_a_row_.end()) return 0;
  return known->second * static_cast<double>(cell.rows()) * (cell.series == kGrowth ? 1 : kOtherData);
}

std::string Budget::reason(double seconds) const {
  if (left() <= 0) return fmt::format("the {:.0f} s are over", seconds_);
  auto const shown = [](double time) { return time < 10 ? fmt::format("{:.1f}", time) : fmt::format("{:.0f}", time); };
  return fmt::format("would take about {} s of the {} s left", shown(seconds), shown(left()));
}

std::string Budget::tables_reason(SuiteCell const& cell) const {
  auto const seconds = expected(kTables, cell);
  return left() <= 0 || seconds > left() * kShare ? reason(seconds) : std::string();
}

Budget::Allowed Budget::allow(std::vector<std::size_t> targets, SuiteCell const& cell) const {
  std::ranges::stable_sort(targets, {}, [&](std::size_t target) { return expected(target, cell); });
  Allowed allowed;
  allowed.seconds = left() * kShare;
  double expected_of_all = 0;
  for (auto const target : targets) {
    auto const seconds = expected(target, cell) * kLeastRuns;
    if (left() <= 0 || expected_of_all + seconds > allowed.seconds) {
      allowed.left_out.emplace_back(target, reason(seconds));
      continue;
    }
    expected_of_all += seconds;
    allowed.targets.push_back(target);
  }
  return allowed;
}

}  // namespace garuda::report

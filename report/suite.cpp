#include "report/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "bench/workloads/words.hpp"

namespace garuda::report {
namespace {

using bench::GroupByCase;
using bench::JoinWorkload;
using bench::KeyDistribution;
using bench::KeyType;
using bench::ValueType;
using Words = std::array<bench::Word<Thoroughness>, 3>;

constexpr Words kWords{
    {{"quick", Thoroughness::quick}, {"standard", Thoroughness::standard}, {"full", Thoroughness::full}}};

constexpr unsigned kQuickPower = 20;
constexpr unsigned kStandardPower = 24;
constexpr unsigned kMostQuick = 24;
constexpr unsigned kMostStandard = 26;
constexpr unsigned kMostFull = 28;

constexpr std::uint64_t rows_of(unsigned power) { return std::uint64_t{1} << power; }

Thoroughness from_of(unsigned power) {
  if (power <= kMostQuick) return Thoroughness::quick;
  return power <= kMostStandard ? Thoroughness::standard : Thoroughness::full;
}

SuiteCell join(unsigned left, unsigned right, std::function<void(JoinWorkload&)> const& change = {}) {
  JoinWorkload workload;
  workload.rows_left = rows_of(left);
  workload.rows_right = rows_of(right);
  if (change) change(workload);
  return {fmt::format("join-{}", right), fmt::format("join 2^{} ⋈ 2^{}", left, right), std::string(kGrowth),
          from_of(right), std::move(workload)};
}

SuiteCell group_by(unsigned rows, unsigned groups, std::function<void(GroupByCase&)> const& change = {}) {
  GroupByCase workload;
  workload.workload.rows = rows_of(rows);
  workload.workload.groups = rows_of(groups);
  if (change) change(workload);
  return {fmt::format("group-{}", rows), fmt::format("group 2^{} rows by 2^{} keys", rows, groups),
          std::string(kGrowth), from_of(rows), std::move(workload)};
}

/// Adds cells that differ in one axis each, at 2^power rows.
void add_axes(std::vector<SuiteCell>& cells, unsigned power, Thoroughness from) {
  auto const add = [&](SuiteCell cell, std::string_view id, std::string_view change) {
    cell.id += fmt::format("-{}", id);
    if (!change.empty()) cell.title += fmt::format(", {}", change);
    cell.series = fmt::format("axes 2^{}", power);
    cell.from = from;
    cells.push_back(std::move(cell));
  };
  auto const add_join = [&](std::string_view id, std::string_view change, auto const& edit) {
    add(join(power, power, edit), id, change);
  };
  auto const add_groups = [&](std::string_view id, unsigned groups, std::string_view change, auto const& edit) {
    add(group_by(power, groups, edit), id, change);
  };
  constexpr unsigned kMany = 10;
  add_join("uniform", "keys spread over 64 bits", [](auto& w) {
    w.distribution = {KeyDistribution::Kind::uniform, 0};
    w.key_type = KeyType::i64;
    w.payload_type = KeyType::i32;
  });
  add_groups("16", 4, "", [](auto&) {});
  add_groups("64k", 16, "", [](auto&) {});
  add_join("zipf", "Zipf 1", [](auto& w) { w.distribution = {KeyDistribution::Kind::zipf, 1}; });
  add_join("misses", "3 % match", [](auto& w) { w.match_ratio = 0.03; });
  add_groups("unique", power - 1, "", [](auto&) {});
  add_groups("float", kMany, "sum of float64", [](auto& w) { w.workload.value_type = ValueType::f64; });
  add(join(power - 4, power), "small", "");
  add_join("wide", "4 payloads a side", [](auto& w) { w.payload_left = w.payload_right = 4; });
  add_join("many", "4 rows a key", [](auto& w) { w.multiplicity = 4; });
  add_groups("zipf", 16, "Zipf 1", [](auto& w) { w.workload.distribution = {KeyDistribution::Kind::zipf, 1}; });
  add_groups("wide", kMany, "2 keys, 5 aggregates", [](auto& w) {
    w.workload.keys = 2;
    w.functions = {AggregateFunction::count, AggregateFunction::sum, AggregateFunction::min, AggregateFunction::max,
                   AggregateFunction::mean};
  });
}

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

std::string_view to_string(Thoroughness thoroughness) noexcept { return bench::word_of(kWords, thoroughness); }

std::uint64_t SuiteCell::rows() const {
  if (auto const* const one = std::get_if<JoinWorkload>(&workload)) return one->rows_left + one->rows_right;
  return std::get<GroupByCase>(workload).workload.rows;
}

std::vector<SuiteCell> suite() {
  constexpr unsigned kLeast = 16;
  constexpr unsigned kGroups = 10;
  std::vector<SuiteCell> cells;
  for (unsigned power = kLeast; power <= kMostFull; power += 2) {
    cells.push_back(join(power, power));
    cells.push_back(group_by(power, kGroups));
    if (power == kQuickPower) add_axes(cells, power, Thoroughness::quick);
    if (power == kStandardPower) add_axes(cells, power, Thoroughness::standard);
  }
  return cells;
}

}  // namespace garuda::report

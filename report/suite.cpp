#include "report/suite.hpp"

#include <fmt/format.h>

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

}  // namespace

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

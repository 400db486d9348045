#include "bench/gpu/gpu_grid.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <utility>

#include "bench/workloads/words.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kGrids{Word<GpuGrid>{"quick", GpuGrid::quick}, Word<GpuGrid>{"full", GpuGrid::full},
                            Word<GpuGrid>{"rivals", GpuGrid::rivals}};

constexpr std::uint64_t rows_of(unsigned power) { return std::uint64_t{1} << power; }

GpuCell join(unsigned left, unsigned right, std::string const& axis = {},
             std::function<void(JoinWorkload&)> const& change = {}) {
  JoinWorkload workload;
  workload.rows_left = rows_of(left);
  workload.rows_right = rows_of(right);
  if (change) change(workload);
  return {fmt::format("join 2^{} x 2^{}{}{}", left, right, axis.empty() ? "" : ", ", axis), workload};
}

/// Each axis of joins but the size, at 2^power rows a side.
std::vector<GpuCell> join_axes(unsigned power) {
  std::vector<GpuCell> cells;
  auto const add = [&](std::string const& axis, std::function<void(JoinWorkload&)> const& change) {
    cells.push_back(join(power, power, axis, change));
  };
  for (auto const columns : {2U, 4U})
    add(fmt::format("{} payloads a side", columns), [=](auto& w) { w.payload_left = w.payload_right = columns; });
  add("i64 keys and payload", [](auto& w) { w.key_type = KeyType::i64; });
  add("i64 payload", [](auto& w) { w.payload_type = KeyType::i64; });
  add("uniform keys", [](auto& w) { w.distribution = {KeyDistribution::Kind::uniform, 0}; });
  for (auto const exponent : {0.5, 1.0, 1.5})
    add(fmt::format("zipf {}", exponent), [=](auto& w) { w.distribution = {KeyDistribution::Kind::zipf, exponent}; });
  for (auto const ratio : {0.03, 0.5})
    add(fmt::format("match ratio {}", ratio), [=](auto& w) { w.match_ratio = ratio; });
  for (auto const multiplicity : {2U, 4U})
    add(fmt::format("multiplicity {}", multiplicity), [=](auto& w) { w.multiplicity = multiplicity; });
  return cells;
}

GpuCell group_by(unsigned rows, unsigned groups, ValueType type = ValueType::i32,
                 std::vector<AggregateFunction> functions = {AggregateFunction::sum}, double zipf = -1) {
  GroupByCase one;
  one.workload.rows = rows_of(rows);
  one.workload.groups = rows_of(groups);
  one.workload.value_type = type;
  if (zipf >= 0) one.workload.distribution = {KeyDistribution::Kind::zipf, zipf};
  one.functions = std::move(functions);
  std::string names;
  for (auto const function : one.functions) names += fmt::format("{}{}", names.empty() ? "" : " ", to_string(function));
  auto name = fmt::format("group-by 2^{} rows, 2^{} groups, {} of {}", rows, groups, names, to_string(type));
  if (zipf >= 0) name += fmt::format(", zipf {}", zipf);
  return {std::move(name), std::move(one)};
}

void append(std::vector<GpuCell>& cells, std::vector<GpuCell> more) {
  for (auto& cell : more) cells.push_back(std::move(cell));
}

std::vector<GpuCell> rival_cells() {
  constexpr unsigned kWide = 27;
  std::vector<GpuCell> cells{join(24, 24), join(kWide, kWide)};
  cells.push_back(join(kWide, kWide, "zipf 1", [](auto& w) { w.distribution = {KeyDistribution::Kind::zipf, 1}; }));
  cells.push_back(join(kWide, kWide, "2 payloads a side", [](auto& w) { w.payload_left = w.payload_right = 2; }));
  // 2^27 rows that draw from 2^27 groups have 85 M of them.
  for (auto const groups : {4U, 10U, 16U, 20U, 24U, 27U}) cells.push_back(group_by(kWide, groups));
  return cells;
}

}  // namespace

Result<GpuGrid> parse_gpu_grid(std::string_view text) { return parse_word("grid", kGrids, text); }

std::vector<GpuCell> resident_cells(GpuGrid grid) {
  if (grid == GpuGrid::rivals) return rival_cells();
  bool const is_quick = grid == GpuGrid::quick;
  unsigned const middle = is_quick ? 22 : 24;
  unsigned const grouped = is_quick ? 24 : 27;
  std::vector<GpuCell> cells;
  for (auto const power : {20U, 22U}) cells.push_back(join(power, power));
  if (!is_quick) cells.push_back(join(middle, middle));
  cells.push_back(join(20, middle));
  append(cells, join_axes(middle));
  for (auto const groups : {4U, 10U, 16U, 20U}) cells.push_back(group_by(grouped, groups));
  cells.push_back(group_by(grouped, 16, ValueType::i32, {AggregateFunction::sum}, 1));
  for (auto const groups : {4U, 16U}) {
    cells.push_back(group_by(grouped, groups, ValueType::i64));
    cells.push_back(group_by(grouped, groups, ValueType::i32,
                             {AggregateFunction::count, AggregateFunction::min, AggregateFunction::max}));
  }
  cells.push_back(group_by(grouped, 16, ValueType::f64));
  cells.push_back(group_by(grouped, 16, ValueType::i32, {AggregateFunction::mean}));
  if (is_quick) return cells;
  for (auto const groups : {24U, 27U}) cells.push_back(group_by(grouped, groups));
  for (auto const power : {26U, 27U, 28U}) cells.push_back(join(power, power));
  return cells;
}

std::vector<GpuCell> end_to_end_cells(GpuGrid grid) {
  if (grid == GpuGrid::rivals) return {join(24, 24), group_by(24, 4), group_by(24, 16), group_by(24, 20)};
  std::vector<GpuCell> cells{join(20, 20), join(22, 22)};
  if (grid == GpuGrid::full) append(cells, {join(24, 24), join(20, 24)});
  unsigned const grouped = grid == GpuGrid::quick ? 22 : 24;
  for (auto const groups : {4U, 10U, 16U, 20U}) cells.push_back(group_by(grouped, groups));
  append(cells, join_axes(grid == GpuGrid::quick ? 20 : 22));
  return cells;
}

}  // namespace garuda::bench

#include "bench/gpu/gpu_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "bench/workloads/words.hpp"
#include "core/stopwatch.hpp"
#include "garuda/control.hpp"

namespace garuda::bench {
namespace {

constexpr std::uint64_t kNsASecond = 1'000'000'000;

class GpuBench {
 public:
  explicit GpuBench(GpuBenchRequest const& request) : request_(request) {}

  /// Errors: cancelled. What else fails is in the outcome.
  Result<GpuCellOutcome> measure(Mode mode, GpuCell const& cell) {
    GpuCellOutcome outcome{mode, cell.name, {}, {}};
    OperatorRequest request = request_;
    request.mode = mode;
    request.paths = paths_of(mode);
    request.choices.clear();
    auto const workload = Workload::create(cell.workload, request_.seed);
    if (!workload) {
      outcome.failures.push_back(workload.error().describe());
      return outcome;
    }
    auto const ready = mode == Mode::resident ? resident_paths(outcome) : std::vector<ResidentPath*>();
    auto measured = mode == Mode::resident ? compare_resident(**workload, request, ready, OnFailure::go_on)
                                           : compare_end_to_end(**workload, request, OnFailure::go_on);
    if (!measured && measured.error().code() == ErrorCode::cancelled)
      return tl::unexpected(std::move(measured).error());
    if (!measured) {
      outcome.failures.push_back(measured.error().describe());
      return outcome;
    }
    for (std::size_t p = 0; p < measured->size(); ++p) {
      auto& result = (*measured)[p];
      if (result) {
        outcome.records.push_back(std::move(result->record));
      } else {
        note(outcome, mode == Mode::resident ? ready[p]->path() : request.paths[p], std::move(result).error());
      }
    }
    return outcome;
  }

  std::optional<Error> const& wrong() const noexcept { return wrong_; }

 private:
  /// The resident paths that can be opened; the others' reasons are noted. They are kept for the next workloads:
  /// drivers and CUDA contexts take longer to open than many a workload to run.
  std::vector<ResidentPath*> resident_paths(GpuCellOutcome& outcome) {
    auto const paths = paths_of(Mode::resident);
    if (std::exchange(is_broken_, false)) opened_.clear();
    if (opened_.empty()) {
      std::vector<Choice> choices;
      for (auto const path : paths) {
        auto const asked = std::ranges::find(request_.choices, path, &Choice::path);
        choices.push_back(asked == request_.choices.end() ? Choice{path, {}} : *asked);
      }
      opened_ = open_resident_paths(choices, request_.device);
    }
    std::vector<ResidentPath*> ready;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      if (opened_[p]) {
        ready.push_back(opened_[p]->get());
      } else {
        note(outcome, paths[p], opened_[p].error());
      }
    }
    return ready;
  }

  void note(GpuCellOutcome& outcome, Path path, Error error) {
    outcome.failures.push_back(fmt::format("{}: {}", to_string(path), error.describe()));
    if (error.code() != ErrorCode::device_failure) return;
    if (!wrong_) wrong_ = std::move(error);
    is_broken_ = true;
  }

  GpuBenchRequest const& request_;
  std::vector<Result<std::unique_ptr<ResidentPath>>> opened_;
  bool is_broken_ = false;      ///< a device has failed, whose state nobody knows now: open all paths again
  std::optional<Error> wrong_;  ///< the first
};

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

std::vector<Path> paths_of(Mode mode) {
  if (mode == Mode::resident) return {Path::compute, Path::cuda};
  return {Path::graphics, Path::compute, Path::cuda, Path::cpu};
}

Path base_of(Mode mode) noexcept { return mode == Mode::resident ? Path::cuda : Path::cpu; }

Record const* record_of(GpuCellOutcome const& outcome, Path path) noexcept {
  auto const found = std::ranges::find(outcome.records, to_string(path), &Record::path);
  return found == outcome.records.end() ? nullptr : &*found;
}

std::optional<RatioSummary> ratio_to_base(GpuCellOutcome const& outcome, Path path) {
  auto const* const own = record_of(outcome, path);
  auto const* const base = record_of(outcome, base_of(outcome.mode));
  bool const can_be_paired = own != nullptr && base != nullptr && own->samples_ns.size() == base->samples_ns.size() &&
                             std::ranges::find(base->samples_ns, 0U) == base->samples_ns.end();
  if (!can_be_paired) return std::nullopt;
  return summarise_ratios(own->samples_ns, base->samples_ns);
}

Result<void> run_gpu_bench(GpuBenchRequest const& request, std::function<void(GpuCellOutcome const&)> const& report) {
  GARUDA_TRY(check(request));
  Stopwatch const watch;
  Control control;
  control.cancelled = request.cancelled;
  GpuBench bench(request);
  for (auto const mode : request.modes) {
    for (auto const& cell : mode == Mode::resident ? resident_cells(request.grid) : end_to_end_cells(request.grid)) {
      if (cell.name.find(request.only) == std::string::npos) continue;
      if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between workloads");
      if (request.seconds != 0 && watch.elapsed_ns() >= request.seconds * kNsASecond) {
        report({mode, cell.name, {}, {fmt::format("the {} s that were given are over", request.seconds)}});
        continue;
      }
      GARUDA_TRY_ASSIGN(auto const outcome, bench.measure(mode, cell));
      report(outcome);
    }
  }
  if (bench.wrong()) return tl::unexpected(*bench.wrong());
  return {};
}

}  // namespace garuda::bench

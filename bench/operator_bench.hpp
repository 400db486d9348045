// `garuda bench join`, `group-by`, `kinds` and `non-equi`: an operator over a workload, by several paths, strategies or
// kinds in turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/gpu/resident_path.hpp"
#include "bench/workloads/workload.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"

namespace garuda::bench {

/// A call of the engine: the workload's operator, over tables, with options.
struct OperatorCall {
  std::vector<TableView> tables;  ///< the workload's, or copies of them
  OperatorOptions options;
  Query query;
  bool on_device = false;  ///< the tables lie on a device, and the result stays there
};

/// An error of a result's check, with where the result came from.
Result<void> checked(Result<void> result, Path path, std::string_view device);

/// A call that is made again and again. Borrows engine and workload. Used by one thread.
class OperatorRun {
 public:
  OperatorRun(Engine& engine, Workload const& workload, OperatorCall call)
      : engine_(engine), workload_(workload), call_(std::move(call)) {}

  struct Rows {
    Schema schema;
    std::vector<Batch> batches;
  };
  /// Calls once, compares all rows, or their number, with the reference, and says in the record what ran; mode and
  /// notes are the caller's. Gives the rows. Blocks. Errors: those of the call; device_failure for a wrong result.
  Result<Rows> verify(Outcome& outcome);
  /// Calls once: the time from the call to the last batch in host memory, or to the result on the device. Blocks.
  Result<Sample> sample();

  Workload const& workload() const noexcept { return workload_; }
  /// Plan and statistics are of the latest call.
  Plan const& plan() const noexcept { return plan_; }
  RunStats const& stats() const noexcept { return stats_; }

 private:
  struct Ran {
    std::uint64_t ns = 0;
    std::uint64_t rows = 0;
    Rows kept;
    std::optional<DeviceTable> table;
  };
  Result<Ran> run(bool reads);

  Engine& engine_;
  Workload const& workload_;
  OperatorCall call_;
  Plan plan_;
  RunStats stats_;
};

/// Copies of the workload's tables: on the device by Engine::upload, or in its pinned memory by Engine::pin.
template <class T>
Result<std::vector<T>> place(Engine& engine, Workload const& workload, DeviceTableOptions const& options,
                             Result<T> (Engine::*copy)(TableView, DeviceTableOptions const&)) {
  std::vector<T> copies;
  for (auto const& table : workload.tables()) {
    GARUDA_TRY_ASSIGN(auto one, (engine.*copy)(table.view(), options));
    copies.push_back(std::move(one));
  }
  return copies;
}

enum class Mode : std::uint8_t {
  resident,    ///< inputs and result in device memory; time of the device
  end_to_end,  ///< from the call to the last batch, all of them kept in host memory
};
/// "resident", "end-to-end".
std::string_view to_string(Mode mode) noexcept;
/// Errors: usage.
Result<Mode> parse_mode(std::string_view text);

/// The runs that are compared.
struct OperatorRequest : Sampling {
  WorkloadSpec workload;
  Mode mode = Mode::end_to_end;
  std::vector<Path> paths{Path::automatic};
  std::string tuning;                   ///< of all paths
  std::vector<Choice> choices;          ///< in place of `paths` and `tuning` when there are any
  std::vector<Query> queries{Query{}};  ///< end to end: each by every choice
  std::optional<std::string> device;    ///< as RunOptions::device, of every path but cpu
  std::uint32_t threads = 0;            ///< 0: all
  bool floor = false;                   ///< end to end, graphics: also measure what its points cost bare
  bool share_tables = false;  ///< resident: the first path uploads the tables, the others open the same memory
  TableMemory memory = TableMemory::ordinary;  ///< of mode end-to-end; on a device times are its own
  bool warms_up = false;                       ///< end to end, paths of devices: half a second before the first turn
};

/// `choices`, or where there are none every path with the same tuning.
std::vector<Choice> choices_of(OperatorRequest const& request);
/// Reads PATH[:TUNING][;PATH[:TUNING]…]. Errors: usage.
Result<std::vector<Choice>> parse_choices(std::string_view text);

/// Generates the workload and runs it once by every choice, comparing each whole result with the reference; then
/// `repeat` times, all in turn. One outcome a choice and query, in the order asked for: beside it a raster floor where
/// there is one, among its ratios those to the floor and to the first query of its choice, among its notes what copying
/// alone takes, and of a non-equi join the pairs of rows a second. Blocks.
/// Errors: usage; cancelled; those of the paths; device_failure, also when a result differs from the reference.
Result<std::vector<Outcome>> run_operator_bench(OperatorRequest const& request);

/// run_operator_bench() end to end on `workload`, in place of the request's; a choice that fails leaves the others.
Result<std::vector<Result<Outcome>>> compare_end_to_end(Workload const& workload, OperatorRequest const& request,
                                                        OnFailure on_failure);
/// Compares opened paths in mode resident on `workload`, beside copies of as many bytes, the devices warmed up.
Result<std::vector<Result<Outcome>>> compare_resident(Workload const& workload, OperatorRequest const& request,
                                                      std::span<ResidentPath* const> paths, OnFailure on_failure);

}  // namespace garuda::bench

// Calls of an operator over a workload's tables, one after the other: what benchmarks and reports verify and time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/workloads/workload.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"

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

}  // namespace garuda::bench
